// Races between two clients of a tree whose order a barrier decides: either order gives one of the legal outcomes, and the tree
// stays a tree.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { outcome, type RawResponse } from '../harness.ts'
import { startLakeFixture } from './fixture.ts'

const { server, lake, filesystem, write } = await startLakeFixture()

type Racer = (client: string) => Promise<RawResponse>

const as = (client: string, headers: Record<string, string> = {}) => {
  return { 'x-lazuli-client': client, ...headers }
}

const rename = (from: string, to: string, headers: Record<string, string> = {}): Racer => {
  return (client) => lake('PUT', to, as(client, { 'x-ms-rename-source': from, ...headers }))
}

const create = (path: string, headers: Record<string, string> = {}): Racer => {
  return (client) => lake('PUT', `${path}?resource=file`, as(client, headers))
}

const remove = (path: string): Racer => {
  return (client) => lake('DELETE', `${path}?recursive=true`, as(client))
}

const appendAndFlush = (path: string, text: string): Racer => {
  const query = 'action=append&position=0&flush=true'
  return (client) => lake('PATCH', `${path}?${query}`, as(client), text)
}

/** The outcomes of both, in the order in which they went on. Both have passed all their checks before. */
async function race(
  at: string,
  order: readonly ('A' | 'B')[],
  racers: Readonly<Record<'A' | 'B', Racer>>,
): Promise<readonly string[]> {
  const barrier = server.barriers.hold({ at: 'checked', match: { path: `${at}/*` } })
  const running = { A: racers.A('A'), B: racers.B('B') }
  await barrier.held(2)
  await barrier.release(...order)
  barrier.remove()
  const found = { A: outcome(await running.A), B: outcome(await running.B) }
  return order.map((name) => found[name])
}

async function pathsOf(name: string): Promise<readonly string[]> {
  const { text } = await lake('GET', `${name}?resource=filesystem&recursive=true`)
  const { paths } = JSON.parse(text) as { readonly paths: readonly { readonly name: string }[] }
  return paths.map((path) => path.name)
}

let count = 0
const fresh = (): Promise<string> => filesystem(`race${(count += 1)}`)

const AB = ['A', 'B'] as const
const BA = ['B', 'A'] as const

for (const order of [AB, BA]) {
  describe(order.join(', '), () => {
    test('two renames that would make a cycle: the second fails', async () => {
      const fs = await fresh()
      for (const path of ['a/f', 'b/f']) await write(`${fs}/${path}`, 'text')
      const found = await race(fs, order, {
        A: rename(`${fs}/a`, `${fs}/b/x`),
        B: rename(`${fs}/b`, `${fs}/a/x`),
      })
      assert.deepEqual(found, ['201', '404 RenameDestinationParentPathNotFound'])
      const to = order[0] === 'A' ? 'b' : 'a'
      assert.deepEqual(await pathsOf(fs), [to, `${to}/f`, `${to}/x`, `${to}/x/f`])
    })

    test('two renames to one name with If-None-Match: *: the second fails', async () => {
      const fs = await fresh()
      for (const path of ['a', 'b']) await write(`${fs}/${path}`, path)
      const once = { 'If-None-Match': '*' }
      const found = await race(fs, order, {
        A: rename(`${fs}/a`, `${fs}/c`, once),
        B: rename(`${fs}/b`, `${fs}/c`, once),
      })
      assert.deepEqual(found, ['201', '409 PathAlreadyExists'])
      const { text } = await lake('GET', `${fs}/c`)
      assert.equal(text, order[0] === 'A' ? 'a' : 'b')
      assert.equal((await pathsOf(fs)).length, 2)
    })

    test('two creates of one path with If-None-Match: *: the second fails', async () => {
      const fs = await fresh()
      const once = create(`${fs}/d/e/f`, { 'If-None-Match': '*' })
      const found = await race(fs, order, { A: once, B: once })
      assert.deepEqual(found, ['201', '409 PathAlreadyExists'])
      assert.deepEqual(await pathsOf(fs), ['d', 'd/e', 'd/e/f'])
    })
  })
}

test('a write behind the rename of its directory finds nothing, and one before it moves along', async () => {
  for (const order of [AB, BA]) {
    const fs = await fresh()
    await write(`${fs}/d/f`, '')
    const found = await race(fs, order, {
      A: appendAndFlush(`${fs}/d/f`, 'text'),
      B: rename(`${fs}/d`, `${fs}/e`),
    })
    const isFirst = order === AB
    assert.deepEqual(found, isFirst ? ['202', '201'] : ['201', '404 PathNotFound'])
    assert.equal((await lake('GET', `${fs}/e/f`)).text, isFirst ? 'text' : '')
  }
})

test('a create before the delete of the tree goes with it, and one behind it makes a new tree', async () => {
  for (const order of [AB, BA]) {
    const fs = await fresh()
    await write(`${fs}/d/old`, 'text')
    const found = await race(fs, order, { A: create(`${fs}/d/e/new`), B: remove(`${fs}/d`) })
    assert.deepEqual(found, order === AB ? ['201', '200'] : ['200', '201'])
    assert.deepEqual(await pathsOf(fs), order === AB ? [] : ['d', 'd/e', 'd/e/new'])
  }
})

test('a rename and a delete of one directory: the second finds nothing', async () => {
  for (const order of [AB, BA]) {
    const fs = await fresh()
    await write(`${fs}/d/f`, 'text')
    const found = await race(fs, order, { A: rename(`${fs}/d`, `${fs}/e`), B: remove(`${fs}/d`) })
    const isFirst = order === AB
    const expected = isFirst ? ['201', '404 PathNotFound'] : ['200', '404 SourcePathNotFound']
    assert.deepEqual(found, expected)
    assert.deepEqual(await pathsOf(fs), isFirst ? ['e', 'e/f'] : [])
  }
})

test('a new file in place of one that is appended to: the append comes before or is refused', async () => {
  for (const order of [AB, BA]) {
    const fs = await fresh()
    await write(`${fs}/f`, 'old')
    const query = 'action=append&position=3&flush=true'
    const found = await race(fs, order, {
      A: (client) => lake('PATCH', `${fs}/f?${query}`, as(client), 'er'),
      B: create(`${fs}/f`),
    })
    const expected = order === AB ? ['202', '201'] : ['201', '400 InvalidFlushPosition']
    assert.deepEqual(found, expected)
    assert.equal((await lake('HEAD', `${fs}/f?action=getStatus`)).headers['content-length'], '0')
  }
})
