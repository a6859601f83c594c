// Check then act. Each in a wrong form that has the race and in a right form that has none.
import assert from 'node:assert/strict'
import { put, refused, file, createFile, putRange, ROW, type RaceProgram } from './requests.ts'

export const CHECKS_THEN_ACTS: readonly RaceProgram[] = [
  {
    kind: 'check then act',
    name: 'a blob that did not exist',
    says: /"A" found that .* did not exist .*"B" created it .*If-None-Match: \*/,
    async wrong({ client }) {
      const [a, b] = [client('A'), client('B')]
      await a.blob('HEAD', '/box/doc')
      await put(b, '1')
      await put(a, '2')
    },
    async right({ client }) {
      const [a, b] = [client('A'), client('B')]
      await a.blob('HEAD', '/box/doc')
      await put(b, '1', { 'if-none-match': '*' })
      await refused(put(a, '2', { 'if-none-match': '*' }), 409)
    },
  },
  {
    kind: 'check then act',
    name: 'a blob that was there for a while',
    says: /did not exist/,
    async wrong({ client }) {
      const [a, b] = [client('A'), client('B')]
      await a.blob('HEAD', '/box/doc')
      await put(b, '1')
      await b.blob('DELETE', '/box/doc')
      await put(b, '2')
      await put(a, '3')
    },
    async right({ client }) {
      const [a, b] = [client('A'), client('B')]
      await a.blob('HEAD', '/box/doc')
      await put(b, '1')
      await b.blob('DELETE', '/box/doc')
      await put(a, '3')
    },
  },
  {
    kind: 'check then act',
    name: 'an entity that did not exist',
    says: /Insert Entity instead/,
    async wrong({ client }) {
      const [a, b] = [client('A').table, client('B').table]
      await assert.rejects(a.getEntity('p', 'r'))
      await b.upsertEntity({ ...ROW, n: 1 }, 'Replace')
      await a.upsertEntity({ ...ROW, n: 2 }, 'Replace')
    },
    async right({ client }) {
      const [a, b] = [client('A').table, client('B').table]
      await assert.rejects(a.getEntity('p', 'r'))
      await b.createEntity({ ...ROW, n: 1 })
      await assert.rejects(a.createEntity({ ...ROW, n: 2 }))
    },
  },
  {
    kind: 'check then act',
    name: 'a file that did not exist',
    says: /FILE_CREATE/,
    async wrong({ client }) {
      await file(client('A'), 'HEAD')
      await createFile(client('B'))
      await createFile(client('A'))
    },
    async right({ client }) {
      await file(client('A'), 'HEAD')
      await createFile(client('A'))
      await file(client('B'), 'HEAD')
      await putRange(client('B'), 'b')
    },
  },
]
