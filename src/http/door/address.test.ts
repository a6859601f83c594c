import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accountKey } from '../../storage/shared/account.ts'
import { StorageError } from '../../storage/shared/error.ts'
import { accountFromHeaders, addressOf } from './address.ts'

const names = ['devstoreaccount1', 'other']
const accounts = {
  get: (name: string) => (names.includes(name) ? { name, keys: [accountKey('a2V5')] } : undefined),
  names: () => names,
}

//  host                              path                       account, style, secondary, resource
const ADDRESSES = [
  ['127.0.0.1:10000', '/devstoreaccount1', 'devstoreaccount1 path primary '],
  ['127.0.0.1:10000', '/devstoreaccount1/', 'devstoreaccount1 path primary '],
  ['localhost:10000', '/other/c/b%20b', 'other path primary c/b%20b'],
  ['azurite:10000', '/other/c', 'other path primary c'],
  ['host.docker.internal', '/other/c/a/b', 'other path primary c/a/b'],
  ['other.blob.localhost:10000', '/c/b', 'other host primary c/b'],
  ['other.blob.core.windows.net', '/', 'other host primary '],
  ['other-secondary.blob.localhost', '/c', 'other host secondary c'],
  ['localhost', '/other-secondary/c', 'other path secondary c'],
  // The first label is not an account: the host is just the machine's name.
  ['storage.example.com', '/other/c', 'other path primary c'],
  // A container may have an account's name.
  ['other.blob.localhost', '/other/b', 'other host primary other/b'],
  [undefined, '/other/c', 'other path primary c'],
] as const

for (const [host, path, expected] of ADDRESSES) {
  test(`${host} ${path} → ${expected}`, () => {
    const { account, pathStyle, secondary, resource } = addressOf(accounts, host, path, false)
    const found = [
      account,
      pathStyle ? 'path' : 'host',
      secondary ? 'secondary' : 'primary',
      resource,
    ]
    assert.equal(found.join(' '), expected)
  })
}

test('with path style only, the host is ignored', () => {
  const found = addressOf(accounts, 'other.blob.localhost', '/devstoreaccount1/c', true)
  assert.deepEqual([found.account, found.resource], ['devstoreaccount1', 'c'])
})

for (const path of ['/', '/nobody/c', '//c', '/nobody-secondary', '/-secondary']) {
  test(`${path} → 404 ResourceNotFound`, () => {
    const resolve = () => addressOf(accounts, 'localhost', path, false)
    assert.throws(resolve, (error) => error instanceof StorageError && error.status === 404)
  })
}

// @azure/storage-file-share sends `PUT /share/new?comp=rename` to a path-style endpoint.
const RENAME_SOURCE = 'http://127.0.0.1:10003/other/share/old?sig=x'
// prettier-ignore
const HEADERS = [
  [{ authorization: 'SharedKey other:c2ln' }, 'other'],
  [{ authorization: 'SharedKeyLite other:c2ln' }, 'other'],
  [{ authorization: 'SharedKey other:c2ln', 'x-ms-file-rename-source': 'http://h/devstoreaccount1/s' }, 'other'],
  [{ 'x-ms-file-rename-source': RENAME_SOURCE }, 'other'],
  [{ authorization: 'Bearer other:c2ln' }, undefined],
  [{ authorization: 'SharedKey nobody:c2ln' }, undefined],
  [{ 'x-ms-file-rename-source': '/other/share' }, undefined],
  [{}, undefined],
] as const

for (const [headers, expected] of HEADERS) {
  test(`/share/new with ${JSON.stringify(headers)} → ${expected ?? '404'}`, () => {
    const resolve = () =>
      addressOf(accounts, 'localhost', '/share/new', false, () => accountFromHeaders(headers))
    if (expected === undefined) return assert.throws(resolve, { code: 'ResourceNotFound' })
    const { account, pathStyle, resource } = resolve()
    assert.deepEqual([account, pathStyle, resource], [expected, false, 'share/new'])
  })
}

test('an account in the path wins over the fallback', () => {
  const found = addressOf(accounts, 'localhost', '/other/c', false, () => 'devstoreaccount1')
  assert.deepEqual([found.account, found.pathStyle], ['other', true])
})
