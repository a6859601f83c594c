// The path of a file by its id, for people who look at leases and copies.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openMemoryKv } from '../../../kv/memory-kv.ts'
import { EXAMPLE_VIEW, exampleNode } from '../example.ts'
import type { FileEvent } from '../open/open.ts'
import { ROOT_ID, saveEntry, saveNode } from '../tree/node.ts'
import { pathOfNode } from './path.ts'

const [DIRECTORY, FILE] = [7, 8]
const NODE = exampleNode('file', FILE, DIRECTORY)

async function world(otherCount = 0) {
  const kv = openMemoryKv<FileEvent>()
  await kv.write(function* (tx) {
    const directory = exampleNode('directory', DIRECTORY, ROOT_ID)
    saveNode(tx, EXAMPLE_VIEW, undefined, { ...directory, directoryName: 'docs' })
    const entry = { kind: 'file', since: 0 } as const
    saveEntry(tx, EXAMPLE_VIEW, DIRECTORY, undefined, { ...entry, nodeId: FILE, name: 'z.txt' })
    for (let at = 0; at < otherCount; at += 1) {
      saveEntry(tx, EXAMPLE_VIEW, DIRECTORY, undefined, {
        ...entry,
        nodeId: 100 + at,
        name: `a${at}`,
      })
    }
  })
  return (hint: { readonly directoryId?: number; readonly name?: string }) =>
    kv.read((tx) => pathOfNode(tx, EXAMPLE_VIEW, NODE, hint))
}

test('a hint that is right is enough, even in a large directory', async () => {
  const pathOf = await world(11_000)
  assert.deepEqual(await pathOf({ directoryId: DIRECTORY, name: 'Z.TXT' }), ['docs', 'z.txt'])
})

test('without one, or with a wrong one, the directory is searched', async () => {
  const pathOf = await world()
  for (const hint of [
    {},
    { directoryId: DIRECTORY, name: 'old' },
    { directoryId: 9, name: 'z.txt' },
  ]) {
    assert.deepEqual(await pathOf(hint), ['docs', 'z.txt'])
  }
})

test('but not a large one: the file is shown by its id', async () => {
  const pathOf = await world(11_000)
  assert.deepEqual(await pathOf({}), ['docs', '(file 8)'])
})
