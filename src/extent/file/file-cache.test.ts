// Which descriptors a reader uses, by what they show: a descriptor shows the file as it was when it was opened, as on a
// network file system.
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { FileCache } from './file-cache.ts'
import { Machine, SimulatedDisk } from './disk-simulation.ts'
import type { Disk } from './disk.ts'

describe('a cache of descriptors', () => {
  /** What the file has now. */
  let content: string
  let openCount: number
  let closed: number[]
  let isSettled: boolean
  let files: FileCache

  beforeEach(() => {
    ;[content, openCount, closed, isSettled] = ['', 0, [], false]
    const states: string[] = []
    const disk: Disk = {
      ...new SimulatedDisk().on(new Machine()),
      read: async (fd, buffer) => Buffer.from(states[fd] ?? '').copy(buffer),
      close: async (fd) => void closed.push(fd),
    }
    const open = async () => {
      openCount += 1
      return states.push(content) - 1
    }
    files = new FileCache(disk, open, 2)
  })

  const readAt = async (begunAt: number, extent = 1): Promise<string> => {
    const buffer = Buffer.alloc(10)
    const file = { extent, begunAt, isSettled: async () => isSettled }
    return buffer.subarray(0, await files.read(file, buffer, 0)).toString()
  }

  test('a reader sees what was written before it began, by other nodes too', async () => {
    content = 'one'
    assert.equal(await readAt(files.tick()), 'one')
    content = 'two'
    assert.equal(await readAt(files.tick()), 'two')
    assert.deepEqual(closed, [0])
  })

  test('a reader keeps its descriptor', async () => {
    const begunAt = files.tick()
    for (let i = 0; i < 3; i += 1) await readAt(begunAt)
    assert.equal(openCount, 1)
  })

  test('readers share the descriptor of a file that does not change any more', async () => {
    isSettled = true
    for (let i = 0; i < 3; i += 1) await readAt(files.tick())
    assert.equal(openCount, 1)
  })

  test('a descriptor is not closed under an earlier reader', async () => {
    content = 'one'
    const [first, second] = [files.tick(), files.tick()]
    const reading = readAt(first)
    const [again, one] = await Promise.all([readAt(second), reading])
    assert.deepEqual([one, again], ['one', 'one'])
    await files.close()
    assert.deepEqual(
      closed.toSorted(),
      Array.from({ length: openCount }, (_, fd) => fd),
    )
  })

  test('descriptors that are not used are closed', async () => {
    isSettled = true
    await readAt(files.tick())
    await files.dropIdle()
    await readAt(files.tick())
    await files.dropIdle()
    assert.deepEqual([openCount, closed.length], [1, 0])
    await files.dropIdle()
    assert.deepEqual(closed, [0])
  })

  test('no more than its limit stay open', async () => {
    isSettled = true
    for (const extent of [1, 2, 3]) await readAt(files.tick(), extent)
    assert.deepEqual(closed, [0])
  })
})
