// What a process wrote to a file, and when it was durable, as strace saw it: enough to make the file that a power cut leaves
// at any moment.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { Random } from '../random.ts'

/** The smallest unit that a disk writes whole. */
const SECTOR_BYTES = 512

export type DiskEvent =
  | {
      readonly kind: 'write'
      readonly offset: number
      readonly bytes: Buffer
      readonly isDurable: boolean
    }
  | { readonly kind: 'sync' }
  /** A line of the file in which the process notes what it has been told. */
  | { readonly kind: 'note'; readonly line: string }

export function straceWrites(trace: string, data: string, notes: string): readonly string[] {
  const calls = 'openat,lseek,pwrite64,pwritev,writev,write,fdatasync,fsync,msync,ftruncate'
  return ['strace', '-f', '-y', '-xx', '-s', '1000000', '-P', data, '-P', notes, '-e', `trace=${calls}`, '-o', trace] // prettier-ignore
}

const LINE = /^\d+ +(\w+)\((.*)\) += (-?\d+)(?:<([^>]*)>)?/
const TEXT = /"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?/g

function bytesOf(hex: string): Buffer {
  return Buffer.from(hex.replaceAll(String.raw`\x`, ''), 'hex')
}

/** All bytes of a call, joined. */
function written(rest: string): Buffer {
  return Buffer.concat(
    [...rest.matchAll(TEXT)].map(([, hex = '', cut]) => {
      assert(cut === undefined, 'strace has cut off what was written')
      return bytesOf(hex)
    }),
  )
}

/** Only one thread at a time writes, so no line is interrupted by another one. */
export function readEvents(trace: string, data: string): readonly DiskEvent[] {
  const events: DiskEvent[] = []
  /** Of each descriptor of the data: where the next write goes, and whether it is durable when it returns. */
  const open = new Map<string, { at: number; readonly isDurable: boolean }>()
  for (const line of readFileSync(trace, 'latin1').split('\n')) {
    if (line.includes('<unfinished') || line.includes('resumed>'))
      throw new Error(line.slice(0, 200))
    const [, name = '', rest = '', result = '', opened = ''] = LINE.exec(line) ?? []
    const fd = name === 'openat' ? result : (/^\d+/.exec(rest)?.[0] ?? '')
    if (name === 'openat') {
      if (bytesOf(opened).toString() === data)
        open.set(fd, { at: 0, isDurable: rest.includes('O_DSYNC') })
      continue
    }
    const file = open.get(fd)
    if (file === undefined) {
      if (name === 'write') events.push({ kind: 'note', line: written(rest).toString().trim() })
      continue
    }
    if (name === 'fdatasync' || name === 'fsync') events.push({ kind: 'sync' })
    else if (name === 'lseek') file.at = Number(result)
    else if (name !== '') {
      const bytes = written(rest)
      assert.equal(bytes.length, Number(result), line.slice(0, 100))
      const isPlaced = name.startsWith('pwrite')
      const offset = isPlaced ? Number(/, (\d+)$/.exec(rest)?.[1]) : file.at
      assert(Number.isInteger(offset), line.slice(-100))
      if (!isPlaced) file.at += bytes.length
      events.push({ kind: 'write', offset, bytes, isDurable: file.isDurable })
    }
  }
  return events
}

export type Survives = (offset: number) => boolean

/** Nothing that was not synced, everything, or some sectors of it. */
export const SURVIVORS: readonly ((random: Random) => Survives)[] = [
  () => () => false,
  () => () => true,
  (random) => () => random.below(2) === 0,
  (random) => () => random.below(8) === 0,
]

/** The file after a power cut that followed the first `count` events. */
export function fileAfterCut(
  events: readonly DiskEvent[],
  count: number,
  survives: Survives,
): Buffer {
  const before = events.slice(0, count)
  const syncedUntil = before.findLastIndex(({ kind }) => kind === 'sync')
  const ends = before.map((event) =>
    event.kind === 'write' ? event.offset + event.bytes.length : 0,
  )
  const file = Buffer.alloc(Math.max(0, ...ends))
  let lengthBytes = 0
  for (const [at, event] of before.entries()) {
    if (event.kind !== 'write') continue
    const isKept = at < syncedUntil || event.isDurable
    for (let from = 0; from < event.bytes.length; from += SECTOR_BYTES) {
      const offset = event.offset + from
      if (!isKept && !survives(offset)) continue
      const sector = event.bytes.subarray(from, from + SECTOR_BYTES)
      lengthBytes = Math.max(lengthBytes, offset + sector.length)
      sector.copy(file, offset)
    }
  }
  return file.subarray(0, lengthBytes)
}
