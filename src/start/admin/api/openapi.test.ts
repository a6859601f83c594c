import assert from 'node:assert/strict'
import { test } from 'node:test'
import { filledJournal } from '../../../../test/journal-entries.ts'
import { openApiOf } from './openapi.ts'
import type { ControlParts } from './parts.ts'
import { routesOf } from './routes.ts'

/** Only the table is looked at, so no part is asked for anything. */
const PARTS = Object.fromEntries(
  [
    'overview',
    'held',
    'races',
    'clock',
    'barriers',
    'faults',
    'snapshots',
    'states',
    'backups',
    'storage',
  ].map((name) => [name, {}]),
) as ControlParts

const journal = filledJournal()
const routes = routesOf({ ...PARTS, journal }, { heartbeatMs: 1_000 })

type Operation = {
  readonly operationId: string
  readonly description: string
  readonly parameters: readonly {
    readonly name: string
    readonly in: string
    readonly schema: object
  }[]
  readonly requestBody?: { readonly required: boolean; readonly content: object }
  readonly responses: Readonly<Record<string, object>>
}

type Document = {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: object
}

const document = JSON.parse(JSON.stringify(openApiOf(routes, '1.2.3'))) as Document

const EXPECTED = [
  'get overview', 'get traffic', 'post accounts/{name}/keys',
  'get journal', 'get journal/stream', 'get journal/{id}', 'get timeline', 'get leases', 'post leases/break', 'get messages/invisible',
  'post messages/visible', 'get opens', 'delete opens/{id}', 'get locks', 'get copies', 'get uncommitted', 'get races', 'get races/test',
  'get clock', 'post clock', 'get barriers', 'post barriers', 'get barriers/{id}', 'delete barriers', 'delete barriers/{id}',
  'post barriers/{id}/release', 'get faults', 'post faults', 'delete faults', 'delete faults/{id}', 'delete journal', 'get snapshots', 'post snapshots/{name}',
  'delete snapshots/{name}', 'post snapshots/{name}/restore', 'post reset', 'post seed', 'post export', 'get backup', 'post backup', 'delete backup',
  'post sas',
  ...['get', 'put', 'post', 'patch', 'delete'].map((method) => `${method} storage/{service}/{account}/{path}`),
] // prettier-ignore

const described = Object.entries(document.paths).flatMap(([path, operations]) =>
  Object.entries(operations).map(([method, operation]) => ({ path, method, operation })),
)

test('the description has every route', () => {
  const found = described.map(({ path, method }) => `${method} ${path.replace('/api/', '')}`)
  assert.deepEqual(found.toSorted(), EXPECTED.toSorted())
})

test('every operation has what OpenAPI 3.1 asks for', () => {
  assert.equal(document.openapi, '3.1.0')
  assert.equal(
    new Set(described.map(({ operation }) => operation.operationId)).size,
    described.length,
  )
  for (const { path, method, operation } of described) {
    assert.match(operation.operationId, /^[a-z]+[A-Z]\w+$/)
    assert.match(operation.description, /^[A-Z].+\.$/s, `${method} ${path}`)
    const inPath = operation.parameters.filter((each) => each.in === 'path').map(({ name }) => name)
    assert.deepEqual(
      inPath,
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
    )
    assert.equal(operation.requestBody !== undefined, ['post', 'put', 'patch'].includes(method))
    assert.deepEqual(Object.keys(operation.responses).at(-1), 'default')
    for (const parameter of operation.parameters) assert.notDeepEqual(parameter.schema, {})
  }
})

test('every reference has a target', () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)]
  assert(references.length > 0)
  for (const [, path = ''] of references) {
    let at: unknown = document
    for (const name of path.split('/')) at = (at as Record<string, unknown>)[name]
    assert.equal(typeof at, 'object', path)
  }
})

test('a body is required if an empty object would be refused', () => {
  const required = described.filter(({ operation }) => operation.requestBody?.required === true)
  assert.deepEqual(
    required.map(({ path }) => path.replace('/api/', '')),
    [
      'leases/break', 'messages/visible', 'clock', 'barriers', 'faults', 'seed', 'export', 'backup', 'sas',
    ], // prettier-ignore
  )
})
