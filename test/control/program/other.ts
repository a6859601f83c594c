// Messages that were handled twice, torn reads, and REST over SMB. Each in a wrong form that has the race and in a right form that has none.
import assert from 'node:assert/strict'
import {
  put,
  get,
  lease,
  etagOf,
  refused,
  file,
  createFile,
  putRange,
  receive,
  remove,
  enqueue,
  type RaceProgram,
} from './requests.ts'

export const OTHER_RACES: readonly RaceProgram[] = [
  {
    kind: 'message handled twice',
    name: 'the work takes longer than the timeout',
    says: /"A" received a message .* for 5 s. It came back after 8 s .*"B" received it/,
    async wrong({ client, server }) {
      const [a, b] = [client('A'), client('B')]
      await enqueue(a)
      const first = await receive(a, 5)
      server.advance(6_000)
      const second = await receive(b, 5)
      server.advance(2_000)
      assert(first && second)
      await refused(remove(a, first), 404)
      await remove(b, second)
    },
    async right({ client, server }) {
      const [a, b] = [client('A'), client('B')]
      await enqueue(a)
      const first = await receive(a, 10)
      server.advance(6_000)
      assert.equal(await receive(b, 5), undefined)
      server.advance(2_000)
      assert(first)
      await remove(a, first)
    },
  },
  {
    kind: 'torn read',
    name: 'ranges of a blob',
    says: /"A" read bytes 0 to 1 .*"B" changed it .*bytes 2 to 3 .*If-Match/,
    async wrong({ client }) {
      const [a, b] = [client('A'), client('B')]
      await put(b, 'aaaa')
      await a.blob('GET', '/box/doc', { 'x-ms-range': 'bytes=0-1' })
      await put(b, 'bbbb')
      await a.blob('GET', '/box/doc', { 'x-ms-range': 'bytes=2-3' })
    },
    async right({ client }) {
      const [a, b] = [client('A'), client('B')]
      await put(b, 'aaaa')
      const first = await a.blob('GET', '/box/doc', { 'x-ms-range': 'bytes=0-1' })
      await put(b, 'bbbb')
      const condition = { 'if-match': etagOf(first) }
      await refused(a.blob('GET', '/box/doc', { 'x-ms-range': 'bytes=2-3', ...condition }), 412)
    },
  },
  {
    kind: 'torn read',
    name: 'ranges of a file',
    says: /share snapshot/,
    async wrong({ client }) {
      const [a, b] = [client('A'), client('B')]
      await createFile(b)
      await file(a, 'GET', '', { 'x-ms-range': 'bytes=0-4' })
      await putRange(b, 'bb', 4)
      await file(a, 'GET', '', { 'x-ms-range': 'bytes=5-9' })
    },
    // Metadata is not part of the bytes.
    async right({ client }) {
      const [a, b] = [client('A'), client('B')]
      await createFile(b)
      await file(a, 'GET', '', { 'x-ms-range': 'bytes=0-4' })
      await file(b, 'PUT', '?comp=metadata', { 'x-ms-meta-b': '1' })
      await file(a, 'GET', '', { 'x-ms-range': 'bytes=5-9' })
    },
  },
  {
    kind: 'torn read',
    name: 'what a list has named is deleted',
    isHarmless: true,
    says: /in a list .*"B" deleted it .*got 404/,
    async wrong({ client }) {
      const [a, b] = [client('A'), client('B')]
      await put(b, '1')
      await a.blob('GET', '/box?restype=container&comp=list')
      await b.blob('DELETE', '/box/doc')
      await refused(get(a), 404)
    },
    async right({ client }) {
      const [a, b] = [client('A'), client('B')]
      await put(b, '1')
      await lease(a, 'acquire')
      await a.blob('GET', '/box?restype=container&comp=list')
      await refused(b.blob('DELETE', '/box/doc'), 412)
      await get(a)
      await lease(a, 'release')
    },
  },
  {
    kind: 'REST over SMB',
    name: 'a write to a file that others may write',
    says: /open over SMB .*"B" changed its bytes over REST .*SharingViolation/,
    async wrong({ client, openOverSmb }) {
      await createFile(client('A'))
      await openOverSmb('RWD')
      await putRange(client('B'), 'b')
    },
    async right({ client, openOverSmb }) {
      await createFile(client('A'))
      await openOverSmb('R')
      await refused(putRange(client('B'), 'b'), 409)
    },
  },
]
