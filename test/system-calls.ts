// The system calls of a server in order, read from strace's output. Calls of different threads overlap, so each has the
// line where it began and the line where it ended.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

export type SystemCall = {
  readonly name: string
  /** The path of the descriptor in the first argument. */
  readonly path: string
  readonly fd: number
  readonly text: string
  readonly begunAt: number
  readonly doneAt: number
}

/** The reason why strace cannot be used; undefined if it can. */
export function straceMissing(): string | undefined {
  const { error, status, stderr } = spawnSync('strace', ['-f', '-e', 'trace=fsync', 'true'], {
    encoding: 'utf8',
  })
  if (error !== undefined) return 'strace is not installed'
  return status === 0 ? undefined : `strace may not trace here: ${stderr.trim().split('\n')[0]}`
}

const TRACED = 'openat,pwrite64,pwritev,write,writev,fdatasync,fsync,msync,sendto,sendmsg'

/** -D makes the traced program our child, so that it gets our signals. */
export function straceProgram(file: string, more: readonly string[] = []): readonly string[] {
  return ['strace', '-D', '-f', '-y', '-s', '24', '-e', `trace=${TRACED}`, ...more, '-o', file]
}

const LINE = /^(\d+) +(?:<\.\.\. )?(\w+)(?:\(| resumed>)(.*)$/
const FIRST_ARGUMENT = /^(\d+)<([^>]*)>/
const UNFINISHED = ' <unfinished ...>'

export function readSystemCalls(file: string): readonly SystemCall[] {
  const calls: SystemCall[] = []
  const begun = new Map<string, { readonly text: string; readonly at: number }>()
  for (const [at, line] of readFileSync(file, 'utf8').split('\n').entries()) {
    const [, thread = '', name = '', rest = ''] = LINE.exec(line) ?? []
    if (name === '') continue
    if (rest.endsWith(UNFINISHED)) {
      begun.set(thread, { text: rest.slice(0, -UNFINISHED.length), at })
      continue
    }
    const start = line.includes(' resumed>') ? begun.get(thread) : undefined
    calls.push(
      callOf(name, `${start?.text ?? ''}${rest}`, { begunAt: start?.at ?? at, doneAt: at }),
    )
  }
  return calls
}

function callOf(name: string, text: string, when: { begunAt: number; doneAt: number }): SystemCall {
  const [, fd = '-1', path = ''] = FIRST_ARGUMENT.exec(text) ?? []
  return { name, text, path, fd: Number(fd), ...when }
}
