import assert from 'node:assert/strict'
import { test } from 'node:test'
import { authorize, hasPermission } from './authorize.ts'
import { outcome, authRequest, AUTH_WORLD } from './example.ts'
import {
  isInKeyRange,
  type Identity,
  type ServiceSasIdentity,
  type TableKeyRange,
} from './identity.ts'
import { isGranted, type Permission } from './permission.ts'
import type { AuthRequest, ServiceName } from './request.ts'

const request = (service: ServiceName = 'blob', more: Partial<AuthRequest> = {}) =>
  authRequest(service, { url: 'http://127.0.0.1:10000/devstoreaccount1/c/b' }, more)

const getBlob: Permission = {
  resourceType: 'o',
  accountSas: 'r',
  serviceSas: 'r',
  anonymous: 'blob',
}
const putBlob: Permission = { resourceType: 'o', accountSas: 'wc', serviceSas: 'wc' }
const listBlobs: Permission = {
  resourceType: 'c',
  accountSas: 'l',
  serviceSas: 'l',
  anonymous: 'container',
}
const setAcl: Permission = {
  resourceType: 'c',
  accountSas: undefined,
  serviceSas: undefined,
  bearer: false,
}
const getKey: Permission = { ...setAcl, resourceType: 's', bearer: 'only' }
const upsert: Permission = { resourceType: 'o', accountSas: 'au', serviceSas: 'au', all: true }

const sharedKey: Identity = { kind: 'sharedKey' }
const bearer: Identity = { kind: 'bearer', claims: {} }
const accountSas = (permissions: string, resourceTypes: string): Identity => {
  return { kind: 'accountSas', permissions, resourceTypes, encryptionScope: undefined }
}
const serviceSas = (permissions: string): ServiceSasIdentity => ({
  kind: 'serviceSas',
  permissions,
  resource: 'c',
  table: undefined,
  keyRange: {},
  responseHeaders: {},
  encryptionScope: undefined,
})
const delegationSas = (permissions: string): Identity => ({
  ...serviceSas(permissions),
  kind: 'userDelegationSas',
  objectId: 'o',
  tenantId: 't',
})

test('an operation accepts only the identities that its permission allows', async () => {
  const onlyBearer = '403 AuthenticationFailed Only authentication scheme Bearer is supported'
  const rows: [identity: Identity, permission: Permission, expected: string][] = [
    [sharedKey, putBlob, 'ok'],
    [sharedKey, setAcl, 'ok'],
    [sharedKey, getKey, onlyBearer],
    [bearer, putBlob, 'ok'],
    [bearer, getKey, 'ok'],
    [bearer, setAcl, '403 AuthorizationFailure'],
    [accountSas('r', 'o'), getBlob, 'ok'],
    [accountSas('rc', 'so'), putBlob, 'ok'],
    [accountSas('r', 'o'), putBlob, '403 AuthorizationPermissionMismatch'],
    [accountSas('r', 'sc'), getBlob, '403 AuthorizationResourceTypeMismatch'],
    [accountSas('rwdl', 'sco'), setAcl, '403 AuthorizationFailure'],
    [accountSas('rwdl', 'sco'), getKey, onlyBearer],
    [accountSas('a', 'o'), upsert, '403 AuthorizationPermissionMismatch'],
    [accountSas('ua', 'o'), upsert, 'ok'],
    [serviceSas('r'), getBlob, 'ok'],
    [serviceSas('r'), putBlob, '403 AuthorizationPermissionMismatch'],
    [serviceSas('rwdl'), setAcl, '403 AuthorizationFailure'],
    [serviceSas('u'), upsert, '403 AuthorizationPermissionMismatch'],
    [delegationSas('w'), putBlob, 'ok'],
    [delegationSas('r'), putBlob, '403 AuthorizationPermissionMismatch'],
  ]
  for (const [identity, permission, expected] of rows) {
    const result = await outcome(() => authorize(identity, permission, request(), AUTH_WORLD))
    assert.equal(result, expected, JSON.stringify([identity, permission]))
  }
})

test('an anonymous request needs public access; others get a challenge or 404, by version and service', async () => {
  const [old, recent] = ['2019-07-07', '2019-12-12']
  const challenged = '401 NoAuthenticationInformation challenge'
  const hidden = '404 ResourceNotFound'
  type Access = 'container' | 'blob' | undefined
  const rows: [Permission, ServiceName, version: string, Access, expected: string][] = [
    [getBlob, 'blob', recent, 'blob', 'ok'],
    [getBlob, 'blob', old, 'container', 'ok'],
    [listBlobs, 'blob', recent, 'container', 'ok'],
    [listBlobs, 'blob', recent, 'blob', challenged],
    [listBlobs, 'blob', old, 'blob', hidden],
    [getBlob, 'blob', recent, undefined, challenged],
    [getBlob, 'blob', old, undefined, hidden],
    [putBlob, 'blob', recent, 'container', challenged],
    [putBlob, 'blob', old, 'container', hidden],
    [getBlob, 'queue', recent, 'container', challenged],
    [getBlob, 'queue', old, 'container', hidden],
    [getBlob, 'table', recent, undefined, challenged],
    [getBlob, 'file', recent, undefined, hidden],
  ]
  for (const [permission, service, version, access, expected] of rows) {
    const world = { ...AUTH_WORLD, publicAccess: async () => access }
    const sent = request(service, { version })
    const result = await outcome(() => authorize({ kind: 'anonymous' }, permission, sent, world))
    assert.equal(result, expected, `${service} ${version} ${access}`)
  }
})

test('with public access disabled, an anonymous read answers 409', async () => {
  const publicAccess = async () => 'container' as const
  const world = { ...AUTH_WORLD, publicAccessPermitted: false, publicAccess }
  const result = (permission: Permission) =>
    outcome(() => authorize({ kind: 'anonymous' }, permission, request(), world))
  assert.equal(await result(getBlob), '409 PublicAccessNotPermitted')
  assert.equal(await result(putBlob), '401 NoAuthenticationInformation challenge')
})

test('Files accepts tokens only with the backup intent', async () => {
  const rows: [headers: Record<string, string>, expected: string][] = [
    [{}, '400 MissingRequiredHeader'],
    [{ 'x-ms-file-request-intent': 'other' }, '400 InvalidHeaderValue'],
    [{ 'x-ms-file-request-intent': 'backup' }, 'ok'],
  ]
  for (const [headers, expected] of rows) {
    const sent = request('file', { headers })
    assert.equal(await outcome(() => authorize(bearer, getBlob, sent, AUTH_WORLD)), expected)
  }
})

test('one permission letter is enough unless all are required', () => {
  assert.equal(isGranted('rw', 'wc', false), true)
  assert.equal(isGranted('r', 'wc', false), false)
  assert.equal(isGranted('ra', 'au', true), false)
  assert.equal(isGranted('ura', 'au', true), true)
  assert.equal(hasPermission(sharedKey, 'w'), true)
  assert.equal(hasPermission(bearer, 'w'), true)
  assert.equal(hasPermission({ kind: 'anonymous' }, 'w'), false)
  assert.equal(hasPermission(serviceSas('c'), 'w'), false)
  assert.equal(hasPermission(accountSas('w', 'o'), 'w'), true)
})

test('the key range of a table SAS includes both ends', () => {
  const start = { startPartitionKey: 'b', startRowKey: '5' }
  const end = { endPartitionKey: 'd', endRowKey: '5' }
  const rows: [range: TableKeyRange, partitionKey: string, rowKey: string, inside: boolean][] = [
    [{}, 'z', 'z', true],
    [{ startPartitionKey: 'b' }, 'a', '9', false],
    [{ startPartitionKey: 'b' }, 'b', '', true],
    [start, 'b', '4', false],
    [start, 'b', '5', true],
    [start, 'c', '0', true],
    [{ endPartitionKey: 'd' }, 'd', '9', true],
    [end, 'd', '5', true],
    [end, 'd', '6', false],
    [end, 'c', '9', true],
    [end, 'e', '0', false],
    [{ ...start, ...end }, 'c', 'x', true],
  ]
  for (const [range, partitionKey, rowKey, inside] of rows) {
    assert.equal(isInKeyRange(range, partitionKey, rowKey), inside)
  }
})
