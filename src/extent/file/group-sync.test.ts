import assert from 'node:assert/strict'
import { test } from 'node:test'
import { groupSync } from './group-sync.ts'

/** Syncs that end when the test says so. */
function heldSyncs() {
  const running: { resolve: () => void; reject: (error: Error) => void }[] = []
  const sync = groupSync(
    () => new Promise((resolve, reject) => void running.push({ resolve, reject })),
  )
  return { sync, running }
}

test('calls during a sync share the next one', async () => {
  const { sync, running } = heldSyncs()
  const first = sync()
  const later = [sync(), sync(), sync()]
  assert.equal(running.length, 1)
  running[0]?.resolve()
  await first
  await new Promise(setImmediate)
  assert.equal(running.length, 2)
  const last = sync()
  running[1]?.resolve()
  await Promise.all(later)
  await new Promise(setImmediate)
  assert.equal(running.length, 3)
  running[2]?.resolve()
  await last
})

test('after a failure every call fails', async () => {
  const { sync, running } = heldSyncs()
  const calls = [sync(), sync()]
  running[0]?.reject(new Error('EIO'))
  for (const each of calls) await assert.rejects(each, /EIO/)
  await assert.rejects(sync(), /EIO/)
  assert.equal(running.length, 1)
})
