// A scan of a directory over several requests, while others change it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  EXAMPLE_ADDRESS,
  EXAMPLE_MOMENT,
  EXAMPLE_SHARE,
  requireExampleNode,
  createExampleNode,
  openExampleNode,
  openExampleShare,
} from '../../storage/file/example.ts'
import { locate, ROOT_ID } from '../../storage/file/tree/node.ts'
import { setDeletePending, type FileKv } from '../../storage/file/open/open.ts'
import { removeNode } from '../../storage/file/tree/remove.ts'
import { renameNode } from '../../storage/file/tree/rename.ts'
import { restartScan, scanPage, startScan, type DirectoryScan } from './directory-scan.ts'

async function openDirectory(names: readonly string[]) {
  const kv = await openExampleShare()
  await kv.write(function* (tx) {
    yield* createExampleNode(tx, 'd', 'directory', 10)
    for (const [index, name] of names.entries())
      yield* createExampleNode(tx, `d/${name}`, 'file', 20 + index)
  })
  const at = { nodeId: 10, parentId: ROOT_ID, path: 'd', isDirectory: true }
  return { kv, open: await openExampleNode(kv, at) }
}

type Directory = Awaited<ReturnType<typeof openDirectory>>

/** The names of the next entries. Moves the scan behind them. */
async function next({ kv, open }: Directory, scan: DirectoryScan, countMax = 100) {
  const page = await scanPage({ kv }, EXAMPLE_ADDRESS, { open }, scan, scan.position, countMax)
  const taken = page.found.slice(0, countMax)
  scan.position = taken.at(-1)?.position ?? scan.position
  return taken.map(({ entry }) => entry.name)
}

async function change(kv: FileKv, from: string, to: string | undefined): Promise<void> {
  await kv.write(function* (tx) {
    const source = yield* requireExampleNode(tx, `d/${from}`)
    if (to === undefined) return yield* removeNode(tx, source, EXAMPLE_MOMENT)
    const target = yield* locate(tx, { ...EXAMPLE_ADDRESS, path: ['d', to] })
    return yield* renameNode(tx, source, target, {}, EXAMPLE_MOMENT)
  })
}

// prettier-ignore
const PATTERNS: readonly (readonly [pattern: string, names: readonly string[]])[] = [
  ['*',     ['.', '..', 'a.txt', 'B', 'bc.TXT']],
  ['b*',    ['B', 'bc.TXT']],
  ['?',     ['.', 'B']],
  ['*.txt', ['a.txt', 'bc.TXT']],
  ['A.TXT', ['a.txt']],
  ['.',     ['.']],
  ['x',     []],
]

for (const [pattern, names] of PATTERNS) {
  test(`a scan for ${pattern} finds ${names.join(', ') || 'nothing'}`, async () => {
    const directory = await openDirectory(['a.txt', 'B', 'bc.TXT'])
    assert.deepEqual(await next(directory, startScan(pattern)), names)
  })
}

test('a scan continues after the last returned name, and can restart', async () => {
  const directory = await openDirectory(['a', 'b', 'c'])
  const scan = startScan('*')
  const seen: string[] = []
  for (let calls = 0; calls < 5; calls += 1) seen.push(...(await next(directory, scan, 1)))
  assert.deepEqual(seen, ['.', '..', 'a', 'b', 'c'])
  assert.deepEqual(await next(directory, scan), [])
  restartScan(scan)
  assert.deepEqual(await next(directory, scan, 3), ['.', '..', 'a'])
})

test('concurrent changes neither hide nor repeat other names', async () => {
  const directory = await openDirectory(['a', 'b', 'c', 'd'])
  const scan = startScan('*')
  assert.deepEqual(await next(directory, scan, 4), ['.', '..', 'a', 'b'])
  await change(directory.kv, 'b', undefined)
  await change(directory.kv, 'a', 'A')
  await change(directory.kv, 'd', 'e')
  assert.deepEqual(await next(directory, scan), ['c', 'e'])
})

test('a file that is marked for deletion is still listed', async () => {
  const directory = await openDirectory(['a'])
  await directory.kv.write(function* (tx) {
    setDeletePending(tx, { shareId: EXAMPLE_SHARE.id, nodeId: 20 }, true)
  })
  assert.deepEqual(await next(directory, startScan('a')), ['a'])
})
