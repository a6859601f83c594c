// Races on files of Data Lake Storage. Each in a wrong form that has the race and in a right form that has none.
import { etagOf, LEASE, OTHER_LEASE, refused, type RaceProgram } from './requests.ts'
import type { RaceClient } from '../race-client.ts'

type Given = Readonly<Record<string, string>>

const create = (client: RaceClient, path: string, headers: Given = {}) =>
  client.lake('PUT', `/lake/${path}?resource=file`, headers)

const append = (client: RaceClient, path: string, at: number, text: string, headers: Given = {}) =>
  client.lake('PATCH', `/lake/${path}?action=append&position=${at}&flush=true`, headers, text)

/** Creates the file, appends to it and flushes. */
async function write(client: RaceClient, path: string, text: string, headers: Given = {}) {
  const created = await create(client, path, headers)
  return created.status === 201 ? append(client, path, 0, text) : created
}

const read = (client: RaceClient, path: string) => client.lake('GET', `/lake/${path}`)

const rename = (client: RaceClient, from: string, to: string, headers: Given = {}) =>
  client.lake('PUT', `/lake/${to}`, { 'x-ms-rename-source': `/lake/${from}`, ...headers })

const lease = (client: RaceClient, action: string, id: string) =>
  client.lake('POST', '/lake/doc', {
    'x-ms-lease-action': action,
    ...(action === 'acquire'
      ? { 'x-ms-lease-duration': '15', 'x-ms-proposed-lease-id': id }
      : { 'x-ms-lease-id': id }),
  })

export const LAKE_RACES: readonly RaceProgram[] = [
  {
    kind: 'lost update',
    name: 'a file is created again over what another appended',
    says: /"A" read \/devlake1\/lake\/doc .*"B" changed it \(entry \d+, Append Data .*Create Path/,
    async wrong({ client }) {
      const [a, b] = [client('A'), client('B')]
      await write(b, 'doc', 'one')
      await read(a, 'doc')
      await append(b, 'doc', 3, 'two')
      await create(a, 'doc')
    },
    async right({ client }) {
      const [a, b] = [client('A'), client('B')]
      await write(b, 'doc', 'one')
      const etag = etagOf(await read(a, 'doc'))
      await append(b, 'doc', 3, 'two')
      await refused(create(a, 'doc', { 'if-match': etag }), 412)
    },
  },
  {
    kind: 'lost update',
    name: 'a file is renamed over one that another has changed',
    says: /"B" changed it .*"A" overwrote it .*Rename Path/,
    async wrong({ client }) {
      const [a, b] = [client('A'), client('B')]
      await write(b, 'doc', 'one')
      await read(a, 'doc')
      await append(b, 'doc', 3, 'two')
      await write(a, 'tmp', 'mine')
      await rename(a, 'tmp', 'doc')
    },
    async right({ client }) {
      const [a, b] = [client('A'), client('B')]
      await write(b, 'doc', 'one')
      const etag = etagOf(await read(a, 'doc'))
      await append(b, 'doc', 3, 'two')
      await write(a, 'tmp', 'mine')
      await refused(rename(a, 'tmp', 'doc', { 'if-match': etag }), 412)
      await rename(a, 'tmp', 'doc', { 'if-match': etagOf(await read(a, 'doc')) })
    },
  },
  {
    kind: 'lost update',
    name: 'both rename a file of their own over the one that they have read',
    says: /"A" read .*"B" renamed another file to it .*"A" replaced that .*If-Match/,
    async wrong({ client }) {
      const [a, b] = [client('A'), client('B')]
      await write(b, 'doc', 'one')
      await Promise.all([read(a, 'doc'), read(b, 'doc')])
      await Promise.all([write(a, 'a.tmp', 'a'), write(b, 'b.tmp', 'b')])
      await rename(b, 'b.tmp', 'doc')
      await rename(a, 'a.tmp', 'doc')
    },
    async right({ client }) {
      const [a, b] = [client('A'), client('B')]
      await write(b, 'doc', 'one')
      const etag = etagOf(await read(a, 'doc'))
      await Promise.all([write(a, 'a.tmp', 'a'), write(b, 'b.tmp', 'b')])
      await rename(b, 'b.tmp', 'doc', { 'if-match': etag })
      await refused(rename(a, 'a.tmp', 'doc', { 'if-match': etag }), 412)
      await read(a, 'doc')
      await rename(a, 'a.tmp', 'doc')
    },
  },
  {
    kind: 'lost update',
    name: 'two clients append at the same position before either flushes',
    says: /"A" appended bytes 3 to 5 .*"B" appended at the same position .*"A" flushed .*InvalidFlushPosition/,
    async wrong({ client }) {
      const [a, b] = [client('A'), client('B')]
      await write(b, 'doc', 'one')
      for (const each of [a, b])
        await each.lake('PATCH', '/lake/doc?action=append&position=3', {}, 'two')
      for (const each of [a, b]) await each.lake('PATCH', '/lake/doc?action=flush&position=6')
    },
    // In one request; and what a client that is gone has appended is nobody's loss.
    async right({ client }) {
      const [a, b] = [client('A'), client('B')]
      await write(b, 'doc', 'one')
      await append(b, 'doc', 3, 'two')
      await refused(append(a, 'doc', 3, 'two'), 400)
      await append(a, 'doc', 6, 'two')
      await client('gone').lake('PATCH', '/lake/doc?action=append&position=9', {}, 'x')
      await append(a, 'doc', 9, 'two')
    },
  },
  {
    kind: 'lost update',
    name: 'a client appends where another has flushed since it looked',
    says: /"A" appended bytes 3 to 5 .*up to which "B" had flushed .*When "A" flushed .*dropped/,
    async wrong({ client }) {
      const [a, b] = [client('A'), client('B')]
      await write(b, 'doc', 'one')
      for (const each of [b, a]) {
        await each.lake('PATCH', '/lake/doc?action=append&position=3', {}, 'two')
        await each.lake('PATCH', '/lake/doc?action=flush&position=6')
      }
    },
    // With the ETag that it has seen, the flush of the second one is refused.
    async right({ client }) {
      const [a, b] = [client('A'), client('B')]
      await write(b, 'doc', 'one')
      const match = { 'if-match': etagOf(await a.lake('HEAD', '/lake/doc')) }
      await append(b, 'doc', 3, 'two')
      await a.lake('PATCH', '/lake/doc?action=append&position=3', {}, 'two')
      await refused(a.lake('PATCH', '/lake/doc?action=flush&position=6', match), 412)
    },
  },
  {
    kind: 'lost update',
    name: 'properties of a path',
    says: /Set Path Properties/,
    async wrong({ client }) {
      const [a, b] = [client('A'), client('B')]
      await write(b, 'doc', 'one')
      await a.lake('HEAD', '/lake/doc')
      await b.lake('PATCH', '/lake/doc?action=setProperties', { 'x-ms-properties': 'b=MQ==' })
      await a.lake('PATCH', '/lake/doc?action=setProperties', { 'x-ms-properties': 'a=MQ==' })
    },
    // Appends and properties do not touch each other.
    async right({ client }) {
      const [a, b] = [client('A'), client('B')]
      await write(b, 'doc', 'one')
      await a.lake('HEAD', '/lake/doc')
      await append(b, 'doc', 3, 'two')
      await a.lake('PATCH', '/lake/doc?action=setProperties', { 'x-ms-properties': 'a=MQ==' })
    },
  },
  {
    kind: 'check then act',
    name: 'a path that did not exist',
    says: /"A" found that \/devlake1\/lake\/doc did not exist .*"B" created it .*If-None-Match: \*/,
    async wrong({ client }) {
      const [a, b] = [client('A'), client('B')]
      await a.lake('HEAD', '/lake/doc')
      await write(b, 'doc', 'one')
      await create(a, 'doc')
    },
    // Both make the directory, also one that was not there, and files next to each other.
    async right({ client }) {
      const [a, b] = [client('A'), client('B')]
      await a.lake('HEAD', '/lake/doc')
      await write(b, 'doc', 'one', { 'if-none-match': '*' })
      await refused(create(a, 'doc', { 'if-none-match': '*' }), 409)
      for (const [each, name] of [
        [a, 'a'],
        [b, 'b'],
      ] as const) {
        await each.lake('HEAD', `/lake/dir/${name}`)
        await client(`other than ${name}`).lake('PUT', '/lake/dir?resource=directory')
        await each.lake('PUT', '/lake/dir?resource=directory')
        await write(each, `dir/${name}`, name)
        await each.lake('GET', '/lake?resource=filesystem&recursive=true')
      }
    },
  },
  {
    kind: 'torn read',
    name: 'a file of Data Lake Storage in ranges',
    says: /bytes 0 to 2 .*"B" changed it .*bytes 3 to 5/,
    async wrong({ client }) {
      const [a, b] = [client('A'), client('B')]
      await write(b, 'doc', 'oneone')
      await a.lake('GET', '/lake/doc', { range: 'bytes=0-2' })
      await write(b, 'doc', 'twotwo')
      await a.lake('GET', '/lake/doc', { range: 'bytes=3-5' })
    },
    // What is there does not change when something is appended.
    async right({ client }) {
      const [a, b] = [client('A'), client('B')]
      await write(b, 'doc', 'oneone')
      await a.lake('GET', '/lake/doc', { range: 'bytes=0-2' })
      await append(b, 'doc', 6, 'two')
      await a.lake('GET', '/lake/doc', { range: 'bytes=3-5' })
    },
  },
  {
    kind: 'lease outlived',
    name: 'an append after another client has taken the lease',
    says: /It expired, and "B" took its place .*LeaseIdMismatch/,
    async wrong({ client, server }) {
      const [a, b] = [client('A'), client('B')]
      await write(a, 'doc', 'one')
      await lease(a, 'acquire', LEASE)
      server.advance(20_000)
      await lease(b, 'acquire', OTHER_LEASE)
      await refused(append(a, 'doc', 3, 'two', { 'x-ms-lease-id': LEASE }), 412)
    },
    async right({ client, server }) {
      const [a, b] = [client('A'), client('B')]
      await write(a, 'doc', 'one')
      await lease(a, 'acquire', LEASE)
      server.advance(7_000)
      const renewing = { 'x-ms-lease-id': LEASE, 'x-ms-lease-action': 'auto-renew' }
      await append(a, 'doc', 3, 'two', renewing)
      server.advance(14_000)
      const releasing = { 'x-ms-lease-id': LEASE, 'x-ms-lease-action': 'release' }
      await append(a, 'doc', 6, 'six', releasing)
      await lease(b, 'acquire', OTHER_LEASE)
    },
  },
]
