// Clients of three nodes use one tree at once: a name has one creator, a directory is in one place, and a file that somebody
// was told is there is found where its directory went.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { SKIP_REASON, testServer } from '../../src/postgres/harness.ts'
import { LAKE, sendAs } from '../datalake/fixture.ts'
import { outcome, type Send } from '../harness.ts'
import { startLocalNode, type LocalNode } from './rig.ts'

const NODES = 3
const CLIENTS = NODES * 4

describe('three nodes', { skip: SKIP_REASON ?? false }, () => {
  let nodes: readonly LocalNode[]

  before(async () => {
    const postgres = await testServer()
    const url = postgres.url(await postgres.newDatabase())
    nodes = await Promise.all(Array.from({ length: NODES }, () => startLocalNode({ url })))
  })

  after(async () => {
    for (const node of nodes) await node.close()
    for (const node of nodes) assert.doesNotMatch(node.logged(), / error: /)
  })

  /** To the client's node. */
  const as = (client: number): Send => {
    const node = nodes[client % NODES]
    assert(node !== undefined)
    return sendAs(node.ports.blob, LAKE)
  }

  const allClients = <T>(run: (client: number) => Promise<T>): Promise<readonly T[]> =>
    Promise.all(Array.from({ length: CLIENTS }, (_, client) => run(client)))

  const filesystem = async (name: string): Promise<string> => {
    assert.equal(outcome(await as(0)('PUT', `/${name}?resource=filesystem`)), '201')
    return `/${name}`
  }

  const create = async (client: number, path: string, headers = {}): Promise<string> =>
    outcome(await as(client)('PUT', `${path}?resource=file`, headers))

  const rename = async (client: number, from: string, to: string): Promise<string> =>
    outcome(await as(client)('PUT', to, { 'x-ms-rename-source': from }))

  /** The same through every node. */
  const pathsOf = async (fs: string): Promise<readonly string[]> => {
    const lists = await Promise.all(
      nodes.map(async (_, at) => {
        const { text } = await as(at)('GET', `${fs}?resource=filesystem&recursive=true`)
        const { paths } = JSON.parse(text) as {
          readonly paths: readonly { readonly name: string }[]
        }
        return paths.map(({ name }) => name)
      }),
    )
    const [first = [], ...others] = lists
    for (const other of others) assert.deepEqual(other, first)
    return first
  }

  test('a path has one creator', async () => {
    const fs = await filesystem('creators')
    const once = { 'If-None-Match': '*' }
    const found = await allClients((client) => create(client, `${fs}/a/b/c`, once))
    assert.deepEqual(countOf(found), { '201': 1, '409 PathAlreadyExists': CLIENTS - 1 })
    assert.deepEqual(await pathsOf(fs), ['a', 'a/b', 'a/b/c'])
  })

  test('a directory that all rename is moved once, with what it has', async () => {
    const fs = await filesystem('renames')
    await create(0, `${fs}/from/file`)
    const found = await allClients((client) => rename(client, `${fs}/from`, `${fs}/to-${client}`))
    assert.deepEqual(countOf(found), { '201': 1, '404 SourcePathNotFound': CLIENTS - 1 })
    const to = `to-${found.indexOf('201')}`
    assert.deepEqual(await pathsOf(fs), [to, `${to}/file`])
  })

  test('renames into each other leave a tree', async () => {
    const fs = await filesystem('cycles')
    for (let at = 0; at < CLIENTS; at += 1) await create(at, `${fs}/d${at}/file`)
    const inside = (client: number) => `${fs}/d${(client + 1) % CLIENTS}/d${client}`
    const found = await allClients((client) => rename(client, `${fs}/d${client}`, inside(client)))
    const moved = found.filter((each) => each === '201').length
    assert(moved > 0 && moved < CLIENTS, String(found))
    const refused = found.filter((each) => each !== '201')
    for (const each of refused) assert.match(each, /^(404 RenameDestinationParentPathNotFound|409 InvalidRenameSourcePath)$/) // prettier-ignore
    const files = (await pathsOf(fs)).filter((path) => path.endsWith('/file'))
    assert.equal(files.length, CLIENTS)
  })

  test('a file that was created while its directory moved is where the directory is', async () => {
    const fs = await filesystem('movers')
    await as(0)('PUT', `${fs}/kept?resource=directory`)
    const made = ['first']
    assert.equal(await create(0, `${fs}/a/first`), '201')
    let moves = 0
    await allClients(async (client) => {
      for (let at = 0; at < 8; at += 1) {
        if (client < NODES) {
          const moved = await rename(client, `${fs}/a`, `${fs}/kept/${client}-${at}`)
          if (moved === '201') moves += 1
          else assert.equal(moved, '404 SourcePathNotFound')
          continue
        }
        const name = `f${client}-${at}`
        assert.equal(await create(client, `${fs}/a/${name}`), '201')
        made.push(name)
      }
    })
    const paths = await pathsOf(fs)
    const files = paths
      .map((path) => path.split('/').at(-1) ?? '')
      .filter((name) => name[0] === 'f')
    assert.deepEqual(files.toSorted(), made.toSorted())
    assert.equal(paths.filter((path) => /^kept\/[^/]+$/.test(path)).length, moves)
    assert(moves > 0)
  })

  test('what is created while its tree is deleted goes with it or stays whole', async () => {
    const fs = await filesystem('deleters')
    await create(0, `${fs}/tree/x/first`)
    const found = await allClients(async (client) =>
      client === 0
        ? outcome(await as(client)('DELETE', `${fs}/tree?recursive=true`))
        : create(client, `${fs}/tree/x/f${client}`),
    )
    assert.deepEqual(countOf(found), { '200': 1, '201': CLIENTS - 1 })
    const left = await pathsOf(fs)
    assert(!left.includes('tree/x/first'))
    if (left.length > 0) assert.deepEqual(left.slice(0, 2), ['tree', 'tree/x'])
  })

  test('appends of all clients with a position are all there', async () => {
    const fs = await filesystem('appends')
    const file = `${fs}/log`
    await as(0)('PUT', `${file}?resource=file&blobtype=appendblob`)
    await allClients(async (client) => {
      const text = `client ${String(client).padStart(2, '0')};`
      for (;;) {
        const { headers } = await as(client)('HEAD', `${file}?action=getStatus`)
        const position = `position=${headers['content-length']}`
        const appended = outcome(
          await as(client)('PATCH', `${file}?action=append&${position}`, {}, text),
        )
        if (appended === '202') return
        assert.equal(appended, '400 InvalidAppendPosition')
      }
    })
    const { text } = await as(1)('GET', file, { accept: 'application/json' })
    assert.equal(text.split(';').toSorted().filter(Boolean).length, CLIENTS)
    assert.equal(text.length, CLIENTS * 'client 00;'.length)
  })
})

function countOf(outcomes: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const each of outcomes) counts[each] = (counts[each] ?? 0) + 1
  return counts
}
