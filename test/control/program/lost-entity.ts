// Lost updates of entities. Each in a wrong form that has the race and in a right form that has none.
import assert from 'node:assert/strict'
import { ROW, type RaceProgram } from './requests.ts'

export const LOST_ENTITIES: readonly RaceProgram[] = [
  {
    kind: 'lost update',
    name: 'an entity that is replaced with If-Match: *',
    says: /Update Entity.*so what "B" did is lost/,
    async wrong({ client }) {
      const [a, b] = [client('A').table, client('B').table]
      await a.createEntity({ ...ROW, n: 1 })
      await a.getEntity('p', 'r')
      await b.updateEntity({ ...ROW, n: 2 }, 'Replace')
      await a.updateEntity({ ...ROW, n: 3 }, 'Replace')
    },
    async right({ client }) {
      const [a, b] = [client('A').table, client('B').table]
      await a.createEntity({ ...ROW, n: 1 })
      const { etag } = await a.getEntity('p', 'r')
      await b.updateEntity({ ...ROW, n: 2 }, 'Replace', { etag })
      await assert.rejects(a.updateEntity({ ...ROW, n: 3 }, 'Replace', { etag }))
    },
  },
  {
    kind: 'lost update',
    name: 'an entity from a query that is upserted',
    says: /Query Entities.*Insert Or Replace Entity/,
    async wrong({ client }) {
      const [a, b] = [client('A').table, client('B').table]
      await a.createEntity({ ...ROW, n: 1 })
      for await (const found of a.listEntities()) assert(found)
      await b.upsertEntity({ ...ROW, n: 2 }, 'Replace')
      await a.upsertEntity({ ...ROW, n: 3 }, 'Replace')
    },
    async right({ client }) {
      const [a, b] = [client('A').table, client('B').table]
      await a.createEntity({ ...ROW, n: 1 })
      await b.upsertEntity({ ...ROW, n: 2 }, 'Replace')
      for await (const found of a.listEntities()) assert(found)
      await a.upsertEntity({ ...ROW, n: 3 }, 'Replace')
    },
  },
  {
    kind: 'lost update',
    name: 'a merge of other properties',
    isHarmless: true,
    says: /other properties.*Both changes are kept/,
    async wrong({ client }) {
      const [a, b] = [client('A').table, client('B').table]
      await a.createEntity({ ...ROW, a: 1, b: 1 })
      await a.getEntity('p', 'r')
      await b.updateEntity({ ...ROW, b: 2 }, 'Merge')
      await a.updateEntity({ ...ROW, a: 2 }, 'Merge')
    },
    async right({ client }) {
      const [a, b] = [client('A').table, client('B').table]
      await a.createEntity({ ...ROW, a: 1, b: 1 })
      const { etag } = await a.getEntity('p', 'r')
      await b.updateEntity({ ...ROW, b: 2 }, 'Merge')
      await assert.rejects(a.updateEntity({ ...ROW, a: 2 }, 'Merge', { etag }))
    },
  },
  {
    kind: 'lost update',
    name: 'a merge of the same property',
    says: /Merge Entity.*lost/,
    async wrong({ client }) {
      const [a, b] = [client('A').table, client('B').table]
      await a.createEntity({ ...ROW, n: 1 })
      await a.getEntity('p', 'r')
      await b.updateEntity({ ...ROW, n: 2 }, 'Merge')
      await a.updateEntity({ ...ROW, n: 3 }, 'Merge')
    },
    async right({ client }) {
      const [a, b] = [client('A').table, client('B').table]
      await a.createEntity({ ...ROW, n: 1 })
      await b.updateEntity({ ...ROW, n: 2 }, 'Merge')
      await a.getEntity('p', 'r')
      await a.updateEntity({ ...ROW, n: 3 }, 'Merge')
    },
  },
  {
    kind: 'lost update',
    name: 'a change by an entity group transaction',
    says: /Entity Group Transaction.*lost/,
    async wrong({ client }) {
      const [a, b] = [client('A').table, client('B').table]
      await a.createEntity({ ...ROW, n: 1 })
      await a.getEntity('p', 'r')
      await b.submitTransaction([['update', { ...ROW, n: 2 }, 'Replace']])
      await a.updateEntity({ ...ROW, n: 3 }, 'Replace')
    },
    // An Insert Entity is refused if there is one.
    async right({ client }) {
      const [a, b] = [client('A').table, client('B').table]
      await a.createEntity({ ...ROW, n: 1 })
      await a.getEntity('p', 'r')
      await b.submitTransaction([['delete', ROW]])
      await a.createEntity({ ...ROW, n: 3 })
    },
  },
]
