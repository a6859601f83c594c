// Access control as text, as bits, and as it changes: the service's rules as tables, and what holds for every list.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { StorageError } from '../../shared/error.ts'
import {
  accessEntries,
  canonicalAcl,
  defaultEntries,
  isExtended,
  permissionsOf,
  type Acl,
  type AclEntry,
} from './acl.ts'
import { createdAccess, recursivelyChanged, rootAccess } from './acl-change.ts'
import { formatAcl, parseAcl, parseAclEntries, parseAclEntryNames } from './acl-text.ts'
import { formatPermissions, parseMode, parseUmask, withMode } from './permissions.ts'

const id = (digit: number) => `${String(digit).repeat(8)}-0000-4000-8000-000000000000`
const ids = fc.integer({ min: 0, max: 9 }).map(id)
const rwx = fc.integer({ min: 0, max: 7 })

const entries = (isDefault: boolean): fc.Arbitrary<Acl> =>
  fc
    .record({
      bits: fc.tuple(rwx, rwx, rwx),
      users: fc.dictionary(ids, rwx),
      groups: fc.dictionary(ids, rwx),
      mask: fc.option(rwx),
    })
    .map(({ bits: [user, group, other], users, groups, mask }): Acl => {
      const entry = (type: AclEntry['type'], permissions: number, name = ''): AclEntry => {
        return { isDefault, type, id: name, permissions }
      }
      return [
        entry('other', other),
        ...(mask === null ? [] : [entry('mask', mask)]),
        ...Object.entries(groups).map(([name, bits]) => entry('group', bits, name)),
        entry('group', group),
        ...Object.entries(users).map(([name, bits]) => entry('user', bits, name)),
        entry('user', user),
      ]
    })

const lists: fc.Arbitrary<Acl> = fc
  .tuple(entries(false), fc.option(entries(true)))
  .map(([access, defaults]) => canonicalAcl([...access, ...(defaults ?? [])]))

const control = (acl: Acl) => ({ owner: 'o', group: 'g', isSticky: false, acl })
const refused = (run: () => unknown) =>
  assert.throws(
    run,
    (error) => error instanceof StorageError && error.code === 'InvaldAccessControlList',
  )

test('a list survives being written and parsed', () => {
  fc.assert(fc.property(lists, (acl) => assert.deepEqual(parseAcl(formatAcl(acl)), acl)))
})

test('a list with named entries has a mask', () => {
  fc.assert(
    fc.property(lists, (acl) => {
      for (const list of [accessEntries(acl), defaultEntries(acl)]) {
        if (list.some((entry) => entry.id !== '')) assert(list.some(({ type }) => type === 'mask'))
      }
    }),
  )
})

// prettier-ignore
const CANONICAL = [
  ['user::rwx,group::r-x,other::---', 'user::rwx,group::r-x,other::---'],
  ['other::--x,group::r--,user::rw-', 'user::rw-,group::r--,other::--x'],
  ['user::rwx,group::r--,other::---,user:bob:-wx', 'user::rwx,user:bob:-wx,group::r--,mask::rwx,other::---'],
  ['user::rwx,group::r--,other::---,user:bob:-wx,mask::r--', 'user::rwx,user:bob:-wx,group::r--,mask::r--,other::---'],
  ['user::rwx,group::r-x,other::--x,default:user:bob:rw-',
    'user::rwx,group::r-x,other::--x,default:user::rwx,default:user:bob:rw-,default:group::r-x,default:mask::rwx,default:other::--x'],
] as const

for (const [sent, kept] of CANONICAL) {
  test(`x-ms-acl ${sent} is kept as ${kept}`, () => assert.equal(formatAcl(parseAcl(sent)), kept))
}

const MANY = Array.from({ length: 29 }, (_, at) => `user:u${at}:r--`).join(',')
const INVALID = [
  'asdf',
  '',
  'user::rwx',
  'user::rwx,group::r-x',
  'user::rwx,group::r-x,other::---,other::---',
  'user::rwx,group::r-x,other::7',
  'user::rwx,group::r-x,other::xwr',
  'user::rwx,group::r-x,other:bob:---',
  'user::rwx,group::r-x,other::---,mask:bob:rwx',
  'user::rwx,group::r-x,other::---,owner::rwx',
  'user::rwx,group::r-x,other::---:x',
  'user::rwx,group::r-x,other::---,user:a b:rwx',
  'user::rwx,group::r-x,other::---,user:A:rwx,user:a:rwx',
  `user::rwx,group::r-x,other::---,${MANY}`,
]
for (const text of INVALID) {
  test(`x-ms-acl ${text.slice(0, 60)} is invalid`, () => refused(() => parseAcl(text)))
}

test('a list has 32 entries, mask included', () => {
  const names = Array.from({ length: 28 }, (_, at) => `user:u${at}:r--`).join(',')
  assert.equal(parseAcl(`user::rwx,group::r-x,other::---,${names}`).length, 32)
})

// prettier-ignore
const MODES = [
  ['0750', 'rwxr-x---'], ['0000', '---------'], ['0777', 'rwxrwxrwx'], ['1777', 'rwxrwxrwt'], ['1770', 'rwxrwx--T'],
  ['rwxr-x---', 'rwxr-x---'], ['rwxrwxrwt', 'rwxrwxrwt'], ['rwxrwxrwT', 'rwxrwxrwT'], ['r--r-----+', 'r--r-----'],
] as const
for (const [text, shown] of MODES) {
  test(`permissions ${text} are shown as ${shown}`, () => {
    const mode = parseMode(text)
    assert(mode !== undefined)
    assert.equal(formatPermissions(withMode(rootAccess('o'), mode)), shown)
  })
}

for (const text of [
  '',
  '777',
  '07777',
  '0888',
  '2777',
  'rwx',
  'rwxrwxrws',
  'rwxrwxrwx-',
  'xwrxwrxwr',
]) {
  test(`permissions '${text}' are malformed`, () => assert.equal(parseMode(text), undefined))
}

test('a umask is four octal digits', () => {
  assert.equal(parseUmask('0027'), 0o027)
  for (const text of ['27', '1027', '0028', '---------']) assert.equal(parseUmask(text), undefined)
})

test('permissions survive being written and parsed', () => {
  fc.assert(
    fc.property(lists, fc.integer({ min: 0, max: 0o777 }), fc.boolean(), (acl, bits, isSticky) => {
      const changed = withMode(control(acl), { bits, isSticky })
      assert.deepEqual(parseMode(formatPermissions(changed)), { bits, isSticky })
    }),
  )
})

test('chmod changes no named entry, and the mask instead of the group', () => {
  fc.assert(
    fc.property(lists, fc.integer({ min: 0, max: 0o777 }), (acl, bits) => {
      const changed = withMode(control(acl), { bits, isSticky: false }).acl
      const named = (list: Acl) => list.filter((entry) => entry.id !== '' || entry.isDefault)
      assert.deepEqual(named(changed), named(acl))
      const type = isExtended(acl) ? 'mask' : 'group'
      assert.equal(permissionsOf(changed, type), (bits >> 3) & 7)
      if (type === 'mask')
        assert.equal(permissionsOf(changed, 'group'), permissionsOf(acl, 'group'))
    }),
  )
})

// prettier-ignore
const CREATED: readonly [string, { isDirectory: boolean; mode?: string; umask?: string }, string][] = [
  ['user::rwx,group::r-x,other::---', { isDirectory: true }, 'rwxr-x---'],
  ['user::rwx,group::r-x,other::---', { isDirectory: false }, 'rw-r-----'],
  ['user::rwx,group::r-x,other::---', { isDirectory: false, mode: '0777', umask: '0022' }, 'rwxr-xr-x'],
  ['user::rwx,group::r-x,other::---', { isDirectory: true, mode: '1777', umask: '0000' }, 'rwxrwxrwt'],
  ['user::rwx,group::r-x,other::---,default:user::rwx,default:group::rwx,default:other::r-x', { isDirectory: true, umask: '0077' }, 'rwxrwxr-x'],
  ['user::rwx,group::r-x,other::---,default:user::rwx,default:group::rwx,default:other::r-x', { isDirectory: false }, 'rw-rw-r--'],
  ['user::rwx,group::r-x,other::---,default:user:bob:rwx', { isDirectory: false, mode: '0640' }, 'rw-r-----+'],
]
for (const [parent, { isDirectory, mode, umask }, expected] of CREATED) {
  test(`${isDirectory ? 'a directory' : 'a file'} with mode ${mode} and umask ${umask} below ${parent} has ${expected}`, () => {
    const given = {
      isDirectory,
      mode: mode === undefined ? undefined : parseMode(mode),
      umaskBits: umask === undefined ? undefined : parseUmask(umask),
    }
    const created = createdAccess(control(parseAcl(parent)), 'creator', given)
    assert.equal(formatPermissions(created), expected)
    assert.deepEqual([created.owner, created.group], ['creator', 'g'])
  })
}

test('a directory takes over the default list of its parent, a file only what it means for itself', () => {
  fc.assert(
    fc.property(lists, (acl) => {
      const directory = createdAccess(control(acl), 'c', { isDirectory: true })
      assert.deepEqual(defaultEntries(directory.acl), defaultEntries(acl))
      const file = createdAccess(control(acl), 'c', { isDirectory: false })
      assert.deepEqual(defaultEntries(file.acl), [])
      assert.deepEqual(canonicalAcl(directory.acl), directory.acl)
      assert.deepEqual(canonicalAcl(file.acl), file.acl)
    }),
  )
})

const BASE = 'user::rwx,group::r-x,other::---'
// prettier-ignore
const REMOVED = [
  [`${BASE},user:bob:rwx,user:eve:r--`, 'user:bob', `user::rwx,user:eve:r--,group::r-x,mask::r-x,other::---`],
  [`${BASE},user:bob:rwx`, 'user:bob', BASE],
  [`${BASE},user:bob:rwx,mask::---`, 'mask', `user::rwx,user:bob:rwx,group::r-x,mask::rwx,other::---`],
  [`${BASE},default:user:bob:rwx`, 'default:user:bob,default:user,default:group,default:mask,default:other', BASE],
  [`${BASE},user:bob:rwx`, 'user:nobody', `user::rwx,user:bob:rwx,group::r-x,mask::rwx,other::---`],
] as const
for (const [before, names, after] of REMOVED) {
  test(`${before} without ${names} is ${after}`, () => {
    const change = { mode: 'remove', names: parseAclEntryNames(names) } as const
    const { acl } = recursivelyChanged(control(parseAcl(before)), change, true)
    assert.equal(formatAcl(acl), after)
  })
}

test('entries that a path must have are not removed', () => {
  for (const text of ['user', 'group', 'other', 'user:bob:rwx', 'nobody:x']) {
    refused(() => parseAclEntryNames(text))
  }
})

test('adding entries and removing them again gives the list from before', () => {
  fc.assert(
    fc.property(lists, ids, rwx, (acl, name, bits) => {
      const unmasked = canonicalAcl(
        acl.filter((entry) => entry.type !== 'mask' && entry.id !== name && entry.id === ''),
      )
      const text = `user:${name}:${formatAcl([{ isDefault: false, type: 'user', id: '', permissions: bits }]).slice(6)}`
      const added = recursivelyChanged(
        control(unmasked),
        { mode: 'modify', entries: parseAclEntries(text) },
        true,
      )
      assert.equal(permissionsOf(added.acl, 'user', { id: name }), bits)
      const change = { mode: 'remove', names: parseAclEntryNames(`user:${name}`) } as const
      assert.deepEqual(recursivelyChanged(added, change, true).acl, unmasked)
    }),
  )
})

test('every recursive change leaves a list that is complete, and no defaults on files', () => {
  const changes = fc.oneof(
    lists.map((acl) => ({ mode: 'set', acl }) as const),
    lists.map((acl) => ({ mode: 'modify', entries: acl.slice(0, 5) }) as const),
    lists.map((acl) => {
      const names = acl.filter(
        ({ isDefault, type, id }) => isDefault || id !== '' || type === 'mask',
      )
      return { mode: 'remove', names } as const
    }),
  )
  fc.assert(
    fc.property(lists, changes, fc.boolean(), (acl, change, isDirectory) => {
      const changed = recursivelyChanged(control(acl), change, isDirectory).acl
      assert.deepEqual(canonicalAcl(changed), changed)
      if (!isDirectory) assert.deepEqual(defaultEntries(changed), [])
    }),
  )
})
