// A success is answered only after its bytes and its record are on disk. Killing the process cannot reveal a missing
// sync, since the kernel keeps written pages; the order of the system calls does.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import {
  cleanUp,
  createContainer,
  MAIN,
  putBlob,
  startServerProcess,
  stop,
  tempFolder,
} from './server-process.ts'
import { readSystemCalls, straceMissing, straceProgram, type SystemCall } from './system-calls.ts'

const missing = straceMissing()
const isSync = ({ name }: SystemCall): boolean => /^(fdatasync|fsync|msync)$/.test(name)
const isWrite = ({ name }: SystemCall): boolean => /^(p?writev?|pwrite64)$/.test(name)
const isStore = ({ path }: SystemCall): boolean => path.endsWith('/store/data.mdb')
const isExtent = ({ path }: SystemCall): boolean => path.endsWith('.extent')
const isCreated = ({ text }: SystemCall): boolean => text.includes('"HTTP/1.1 201')

after(cleanUp)

/**
 * Makes each sync take 10 ms longer, as on a real disk: a response that does not wait for it is sent before it ends,
 * and other requests arrive in the meantime.
 */
const SLOW_SYNC = ['-e', 'inject=fdatasync,fsync,msync:delay_enter=10000']

/** Starts a server under strace, runs `work`, stops it and returns its system calls. */
async function trace(
  work: (server: { readonly blobPort: number }) => Promise<void>,
): Promise<{ readonly folder: string; readonly calls: readonly SystemCall[] }> {
  const folder = tempFolder('durability')
  const file = join(tempFolder('trace'), 'calls')
  const location = join(folder, 'data')
  const server = await startServerProcess({
    program: ['env', ...straceProgram(file, SLOW_SYNC), process.execPath, MAIN],
    args: ['--silent', '--location', location],
  })
  await work(server)
  assert.equal((await stop(server)).code, 0)
  return { folder: location, calls: readSystemCalls(file) }
}

describe('the order of writes, syncs and responses:', { skip: missing ?? false }, () => {
  let folder: string
  let calls: readonly SystemCall[]
  /** The responses to Create Container, the small and the large Put Blob. */
  let answers: readonly SystemCall[]

  before(async () => {
    const traced = await trace(async (server) => {
      assert.equal((await createContainer(server, 'durable')).status, 201)
      assert.equal((await putBlob(server, '/durable/inline', Buffer.alloc(1_024, 1))).status, 201)
      assert.equal((await putBlob(server, '/durable/large', Buffer.alloc(262_144, 2))).status, 201)
    })
    folder = traced.folder
    calls = traced.calls
    answers = calls.filter(isCreated)
    assert.equal(answers.length, 3)
  })

  /** The calls for the n-th request: after the previous response and before its own. */
  function callsOf(index: number): readonly SystemCall[] {
    const from = answers[index - 1]?.doneAt ?? 0
    const to = answers[index]?.begunAt ?? 0
    return calls.filter(({ begunAt, doneAt }) => begunAt > from && doneAt < to)
  }

  /** The last write to the file, and the sync that follows it. */
  function lastSync(
    during: readonly SystemCall[],
    isFile: (call: SystemCall) => boolean,
  ): { readonly write: SystemCall; readonly sync: SystemCall } {
    const write = during.findLast((call) => isFile(call) && isWrite(call) && !isSynced(call))
    assert(write !== undefined, 'it was written')
    const sync = during.find((call) => {
      return isFile(call) && isSync(call) && call.begunAt > write.doneAt
    })
    assert(sync !== undefined, 'it was synced after its last write, and before the answer')
    return { write, sync }
  }

  /** LMDB writes the page that makes a commit valid through a descriptor opened for synchronous writes. */
  function isSynced(call: SystemCall): boolean {
    const opened = calls.findLast(({ name, text, doneAt }) => {
      return (
        name === 'openat' && doneAt < call.begunAt && text.includes(` = ${call.fd}<${call.path}>`)
      )
    })
    return opened?.text.includes('O_DSYNC') === true
  }

  for (const [index, what] of [
    [0, 'Create Container'],
    [1, 'Put Blob of 1 KiB'],
    [2, 'Put Blob of 256 KiB'],
  ] as const) {
    test(`${what} is answered after the store is synced and its commit is valid`, () => {
      const during = callsOf(index)
      const { sync } = lastSync(during, isStore)
      const commit = during.findLast((call) => isStore(call) && isWrite(call) && isSynced(call))
      assert(commit !== undefined && commit.begunAt > sync.doneAt)
    })
  }

  test('Put Blob of 256 KiB writes the bytes before the record that points to them', () => {
    const during = callsOf(2)
    const bytes = lastSync(during, isExtent)
    const record = lastSync(during, isStore)
    assert(bytes.sync.doneAt < record.write.begunAt)
  })

  test('Put Blob of 1 KiB stores the body in its record and needs one sync', () => {
    assert.deepEqual(callsOf(1).filter(isExtent), [])
    assert.equal(callsOf(1).filter(isSync).length, 1)
  })

  test('the names of new files and folders are durable before the first response', () => {
    const during = callsOf(0).filter(isSync)
    for (const directory of [folder, join(folder, 'store'), join(folder, '..')]) {
      assert(during.some(({ path }) => path === directory), `${directory} was synced`) // prettier-ignore
    }
  })

  test('the name of a new extent is durable before a record points to it', () => {
    const during = callsOf(2)
    const named = during.find((call) => call.path === join(folder, 'extents') && isSync(call))
    assert(named !== undefined && named.doneAt < lastSync(during, isStore).write.begunAt)
  })
})

describe('syncs are shared', { skip: missing ?? false }, () => {
  const COUNT = 32

  const FILES = { store: isStore, extent: isExtent }

  for (const [lengthBytes, ...files] of [
    [1_024, 'store'],
    [65_536, 'extent', 'store'],
  ] as const) {
    test(`by ${COUNT} parallel Put Blob of ${lengthBytes} bytes: ${files.join(', ')}`, async () => {
      const { calls } = await trace(async (server) => {
        await createContainer(server, 'shared')
        const names = Array.from({ length: COUNT }, (_, index) => `/shared/${index}`)
        const body = Buffer.alloc(lengthBytes, 3)
        const puts = await Promise.all(names.map((name) => putBlob(server, name, body)))
        assert.deepEqual(new Set(puts.map(({ status }) => status)), new Set([201]))
      })
      const [container, ...puts] = calls.filter(isCreated)
      assert.equal(puts.length, COUNT)
      const [from, to] = [container?.doneAt ?? 0, puts.at(-1)?.begunAt ?? 0]
      const during = calls.filter(({ begunAt, doneAt }) => begunAt > from && doneAt < to)
      for (const file of files) {
        const { length } = during.filter((call) => FILES[file](call) && isSync(call))
        assert(length >= 1 && length <= COUNT / 2, `${length} syncs of the ${file}`)
      }
    })
  }
})
