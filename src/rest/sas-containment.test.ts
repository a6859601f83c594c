// A SAS grants a scope. However the path of a request is written, the SAS opens every name within its scope and no name
// outside it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { authenticate } from '../auth/authenticate.ts'
import { ACCOUNT, KEYS, authRequest, AUTH_WORLD } from '../auth/example.ts'
import type { SasResource } from '../auth/identity.ts'
import type { AuthRequest } from '../auth/request.ts'
import { serviceSasStringToSign } from '../auth/sas/service-sas.ts'
import { sign } from '../auth/signature.ts'
import type { Request } from '../http/door/operation.ts'
import { parseQuery } from '../http/protocol/query.ts'
import { resolvePath } from '../http/door/resource-path.ts'
import { accountKey } from '../storage/shared/account.ts'
import { StorageError } from '../storage/shared/error.ts'
import { blobAddressAt } from './blob/service.ts'
import { pathAddress, type LakeCall } from './datalake/service.ts'
import { fileAddressAt } from './file/service.ts'

type Scope = {
  readonly service: 'blob' | 'file'
  readonly resource: SasResource
  /** Container or share, then names. */
  readonly names: readonly string[]
}

const VERSION = '2026-04-06'

const names = fc.constantFrom('a', 'b', 'dir', 'x.')
const steps = fc.constantFrom(
  'a',
  'b',
  'dir',
  'x.',
  '..',
  '.',
  '%2e%2e',
  '.%2E',
  '%2e',
  '...',
  '',
  'a%5Cb',
  'dir%2F..',
  '..%5C..',
)
const separators = fc.constantFrom('/', '/', '/', '%2F', '%5C', '\\', '//')
const containers = fc.constantFrom('vault', 'other', '$root')

/** The path of a URL after the account. */
const resources = fc
  .tuple(containers, fc.array(fc.tuple(separators, steps), { maxLength: 5 }))
  .map(([container, rest]) => container + rest.map(([between, step]) => between + step).join(''))

const SCOPED: readonly [Scope['service'], SasResource, lengthMin: number, lengthMax: number][] = [
  ['blob', 'b', 1, 3],
  ['blob', 'c', 0, 0],
  ['blob', 'd', 1, 2],
  ['file', 'f', 1, 3],
  ['file', 's', 0, 0],
]

const scopes: fc.Arbitrary<Scope> = fc.oneof(
  ...SCOPED.map(([service, resource, minLength, maxLength]) =>
    fc
      .tuple(containers, fc.array(names, { minLength, maxLength }))
      .map(([container, rest]) => ({ service, resource, names: [container, ...rest] })),
  ),
)

function signedQuery({ service, resource, names: [container = '', ...rest] }: Scope): string {
  const query =
    `sv=${VERSION}&sr=${resource}&sp=r&se=2030-01-01T00%3A00%3A00Z` +
    (resource === 'd' ? `&sdd=${rest.length}` : '')
  const path = rest.length === 0 ? [container] : [container, rest.join('/')]
  const url = `https://host/${ACCOUNT}/x?${query}`
  const text = serviceSasStringToSign(authRequest(service, { url }, { path }))
  const signature = sign(accountKey(KEYS[0] ?? '').secret, text)
  return `${query}&sig=${encodeURIComponent(signature)}`
}

type Endpoint = Scope['service'] | 'dfs'

function requestFor(endpoint: Endpoint, resource: string, search: string): AuthRequest {
  const [query, headers] = [parseQuery(search), {}]
  const path = resolvePath(endpoint, resource, { query, headers, version: VERSION })
  const service = endpoint === 'dfs' ? 'blob' : endpoint
  const rawPath = `/${ACCOUNT}/${resource}`
  return authRequest(service, { url: `https://host/${ACCOUNT}/x` }, { query, path, rawPath })
}

/** The resource that the operation opens: container or share, then names. */
function openedBy(request: AuthRequest): readonly string[] {
  if (request.service === 'file') {
    const { share, path } = fileAddressAt(request as Request)
    return [share, ...path]
  }
  const { container, blob } = blobAddressAt(request as Request)
  return [container, ...blob.split('/')]
}

function isWithin({ resource, names: scope }: Scope, opened: readonly string[]): boolean {
  const isExact = resource === 'b' || resource === 'f'
  if (isExact && scope.length !== opened.length) return false
  return scope.every((name, at) => opened[at] === name)
}

/** The path that Data Lake Storage opens: a path, or the directory of a list. */
function openedInLake(request: AuthRequest): readonly string[] {
  const identity = { kind: 'anonymous' }
  const { container, path } = pathAddress({ request, identity } as LakeCall)
  return path === '' ? [container] : [container, ...path.split('/')]
}

/** Returns undefined for an invalid path. */
function attempt(endpoint: Endpoint, scope: Scope, resource: string) {
  try {
    const [path = '', search = ''] = resource.split('?')
    const request = requestFor(endpoint, path, `${search}&${signedQuery(scope)}`)
    return { request, opened: endpoint === 'dfs' ? openedInLake(request) : openedBy(request) }
  } catch (error) {
    if (error instanceof StorageError) return undefined
    throw error
  }
}

async function isAccepted(request: AuthRequest): Promise<boolean> {
  try {
    await authenticate(request, AUTH_WORLD)
    return true
  } catch (error) {
    if (error instanceof StorageError && error.status === 403) return false
    throw error
  }
}

type Tried = readonly [Endpoint, Scope, resource: string]

async function checkContainment(tried: fc.Arbitrary<Tried>): Promise<void> {
  const seen = { accepted: 0, refused: 0 }
  await fc.assert(
    fc.asyncProperty(tried, async ([endpoint, scope, resource]) => {
      const attempted = attempt(endpoint, scope, resource)
      if (attempted === undefined) return
      const accepted = await isAccepted(attempted.request)
      seen[accepted ? 'accepted' : 'refused'] += 1
      assert.equal(accepted, isWithin(scope, attempted.opened), attempted.opened.join(' / '))
    }),
    { numRuns: 5_000 },
  )
  assert.ok(seen.accepted > 20 && seen.refused > 20, JSON.stringify(seen))
}

test('a SAS opens everything within its scope and nothing else', async () => {
  const tried = fc.tuple(scopes, resources)
  await checkContainment(tried.map(([scope, resource]) => [scope.service, scope, resource]))
})

test('so it does at the endpoint of Data Lake Storage, whose lists have their directory in the query', async () => {
  const blobs = scopes.filter(({ service }) => service === 'blob')
  const directories = fc
    .array(fc.tuple(steps, separators), { maxLength: 3 })
    .map((parts) => encodeURIComponent(decodeURIComponent(parts.flat().join(''))))
  const lists = fc
    .tuple(fc.oneof(containers, resources), directories)
    .map(([path, directory]) => `${path}?resource=filesystem&directory=${directory}`)
  const tried = fc.tuple(blobs, fc.oneof(resources, lists))
  await checkContainment(tried.map(([scope, resource]) => ['dfs', scope, resource]))
})
