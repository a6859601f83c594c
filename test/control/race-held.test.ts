// A race that a barrier makes: a write is held after its checks, with a rehearsal that is undone, while another goes ahead.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sendTo } from '../harness.ts'
import { runTestServer } from '../running-server.ts'
import { createRaces } from '../../src/control/race/race.ts'

const server = await runTestServer()
after(() => server.close())

const send = sendTo(server.blobPort)
const put = (client: string, headers: Readonly<Record<string, string>> = {}) =>
  send(
    'PUT',
    '/box/doc',
    { 'x-lazuli-client': client, 'x-ms-blob-type': 'BlockBlob', ...headers },
    client,
  )

function gate() {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}

/** The next write of A waits after its checks until another client has written. */
async function raceWith(other: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const reached = gate()
  const release = gate()
  const stop = server.control.points.listen({
    reach: (point, { client }) => {
      if (point !== 'checked' || client !== 'A') return undefined
      reached.open()
      return release.opened
    },
  })
  const held = put('A', headers)
  await reached.opened
  await put(other)
  release.open()
  const { status } = await held
  stop()
  return status
}

test('a write that was held overwrites what was written meanwhile', async () => {
  await send('PUT', '/box?restype=container')
  await put('A')
  assert.equal(await raceWith('B', {}), 201)
  const races = createRaces(server.control.journal).races()
  assert.deepEqual(
    races.map(({ kind, clients }) => [kind, ...clients]),
    [['lost update', 'A', 'B']],
  )
  const read = await send('GET', '/box/doc', { 'x-lazuli-client': 'A' })
  assert.equal(await raceWith('C', { 'if-match': String(read.headers.etag) }), 412)
  assert.equal(createRaces(server.control.journal).races().length, 1)
})
