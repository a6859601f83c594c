// Who may do what with paths, and what the operations on access control leave behind.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findBlob } from '../blob/blob.ts'
import type { PathNeed } from '../blob/path/access.ts'
import type { StorageError } from '../shared/error.ts'
import {
  checkAccess,
  getAccessControl,
  setAccessControl,
  setAccessControlRecursive,
  type ChangeTree,
  type TreeChange,
} from './access-control.ts'
import type { AccessChange } from '../blob/access/acl-change.ts'
import { formatAcl, parseAcl, parseAclEntries } from '../blob/access/acl-text.ts'
import type { Actor } from '../blob/access/actor.ts'
import { GUARD, lakeWorld, pathsOf, type LakeWorld } from './harness.ts'
import { parseMode, formatPermissions } from '../blob/access/permissions.ts'

const ANN: Actor = { kind: 'user', objectId: 'ann', groups: ['team'] }
const BOB: Actor = { kind: 'user', objectId: 'bob', groups: [] }

const code = (expected: string) => (error: StorageError) => {
  assert.equal(error.code, expected)
  return true
}

const refused = code('AuthorizationPermissionMismatch')

function set(world: LakeWorld, path: string, change: AccessChange, actor?: Actor) {
  const address = world.at(path, actor && { actor })
  return world.write((tx, taken) => setAccessControl(tx, address, GUARD, change, taken.nowMs))
}

function get(world: LakeWorld, path: string) {
  return world.kv.read((tx) => getAccessControl(tx, world.at(path), GUARD, world.now.ms))
}

async function textOf(world: LakeWorld, path: string): Promise<string> {
  const { access } = await get(world, path)
  return `${access.owner} ${access.group} ${formatPermissions(access)} ${formatAcl(access.acl)}`
}

/** A filesystem in which everybody may pass the root. */
async function openWorld(): Promise<LakeWorld> {
  const world = await lakeWorld()
  await set(world, '', { mode: mode('0755') })
  return world
}

function mode(text: string) {
  const parsed = parseMode(text)
  assert(parsed !== undefined)
  return parsed
}

test('a path that a key creates is the superuser’s, with the usual mode', async () => {
  const world = await lakeWorld()
  await world.create('d/f')
  const expected = ['rwxr-x---', 'rwxr-x---', 'rw-r-----']
  for (const [at, path] of ['', 'd', 'd/f'].entries()) {
    const { access } = await get(world, path)
    assert.equal(formatPermissions(access), expected[at])
    assert.deepEqual([access.owner, access.group], ['$superuser', '$superuser'])
  }
  assert.equal((await world.find('d/f'))?.path?.access, undefined, 'what is usual is not stored')
})

test('a new path has its creator, the group of its parent and the default list of its parent', async () => {
  const world = await openWorld()
  const acl = parseAcl('user::rwx,group::rwx,other::---,default:user::rwx,default:user:bob:r-x,default:group::r-x,default:other::---') // prettier-ignore
  await world.mkdir('d', { access: { owner: 'ann', group: 'team', acl } })
  await world.create('d/e/f', {}, { actor: ANN })
  assert.equal(
    await textOf(world, 'd/e'),
    'ann team rwxr-x---+ user::rwx,user:bob:r-x,group::r-x,mask::r-x,other::---,' +
      'default:user::rwx,default:user:bob:r-x,default:group::r-x,default:mask::r-x,default:other::---',
  )
  const file = await textOf(world, 'd/e/f')
  assert.equal(file, 'ann team rw-r-----+ user::rw-,user:bob:r-x,group::r-x,mask::r--,other::---')
})

test('an umask and permissions of a request count where there is no default list', async () => {
  const world = await lakeWorld()
  await world.create('f', { access: { mode: mode('0777'), umaskBits: 0o022 } })
  assert.equal(formatPermissions((await get(world, 'f')).access), 'rwxr-xr-x')
})

// What Azure's table of permissions says for each operation, on /d/e/f: the modes of d, e and f for others.
// prettier-ignore
const NEEDS: readonly (readonly [need: PathNeed, path: string, d: number, e: number, f: number, isAllowed: boolean])[] = [
  ['read', 'd/e/f', 1, 1, 4, true],
  ['read', 'd/e/f', 0, 1, 4, false],
  ['read', 'd/e/f', 1, 0, 4, false],
  ['read', 'd/e/f', 7, 7, 3, false],
  ['write', 'd/e/f', 1, 1, 2, true],
  ['write', 'd/e/f', 7, 7, 5, false],
  ['write', 'd/e/new', 1, 3, 0, true],
  ['write', 'd/e/new', 1, 1, 0, false],
  ['write', 'd/e/new', 1, 2, 0, false],
  ['write', 'd/new/new', 3, 0, 0, true],
  ['write', 'd/new/new', 1, 0, 0, false],
  ['list', 'd/e', 1, 5, 0, true],
  ['list', 'd/e', 1, 4, 0, false],
  ['list', 'd/e', 1, 1, 0, false],
  ['delete', 'd/e/f', 1, 3, 0, true],
  ['delete', 'd/e/f', 1, 1, 7, false],
  ['traverse', 'd/e/f', 1, 1, 0, true],
  ['traverse', 'd/e/f', 1, 0, 7, false],
  ['read', 'd/e/none', 1, 1, 0, true],
]

for (const [need, path, d, e, f, isAllowed] of NEEDS) {
  test(`${need} of ${path} with --${d} --${e} --${f} is ${isAllowed ? 'allowed' : 'refused'}`, async () => {
    const world = await openWorld()
    await world.create('d/e/f')
    for (const [at, bits] of [['d', d], ['d/e', e], ['d/e/f', f]] as const) {
      await set(world, at, { mode: { bits: 0o770 | bits, isSticky: false } })
    } // prettier-ignore
    const find = (actor: Actor) => {
      const address = { account: 'lake', container: 'fs', blob: path, access: { actor, need } }
      return world.kv.read((tx) => findBlob(tx, address, world.now.ms))
    }
    if (isAllowed) await find(BOB)
    else await assert.rejects(find(BOB), refused)
    await find({ kind: 'superuser' })
  })
}

test('in a sticky directory only the owners of path and directory delete and rename', async () => {
  const world = await openWorld()
  await world.mkdir('d', { access: { owner: 'carl', mode: mode('1777'), umaskBits: 0 } })
  await world.create('d/f', { access: { owner: 'ann' } })
  await assert.rejects(world.delete('d/f', {}, { actor: BOB }), refused)
  await assert.rejects(world.rename('d/f', 'd/g', {}, [{ actor: BOB }, { actor: BOB }]), refused)
  await world.rename('d/f', 'd/g', {}, [{ actor: ANN }, { actor: ANN }])
  await world.delete('d/g', {}, { actor: { kind: 'user', objectId: 'carl', groups: [] } })
  assert.deepEqual(await pathsOf(world), ['d/'])
})

test('a user deletes a tree if they may change all of it, in several requests if it is long', async () => {
  const world = await openWorld()
  await set(world, '', { mode: mode('0777') })
  const all = { access: { mode: mode('0777'), umaskBits: 0 } }
  await world.mkdir('d', all)
  for (let at = 0; at < 3; at += 1) await world.mkdir(`d/${at}`, all)
  await world.mkdir('d/2/closed')
  await assert.rejects(world.delete('d', {}, { actor: BOB }), refused)
  await world.delete('d/2/closed')
  const { continuation } = await world.delete('d', { countMax: 2 }, { actor: BOB })
  assert.equal(continuation, '1')
  assert.equal((await pathsOf(world)).length, 4)
  await world.delete('d', { continuation: continuation ?? '' }, { actor: BOB })
  assert.deepEqual(await pathsOf(world), [])
})

test('only the owner changes permissions, and only a superuser the owner', async () => {
  const world = await openWorld()
  await world.create('f', { access: { owner: 'ann' } })
  await assert.rejects(set(world, 'f', { mode: mode('0777') }, BOB), refused)
  await set(world, 'f', { mode: mode('0777') }, ANN)
  await assert.rejects(set(world, 'f', { owner: 'bob' }, ANN), refused)
  await set(world, 'f', { group: 'team' }, ANN)
  await set(world, 'f', { owner: 'bob' })
  assert.match(await textOf(world, 'f'), /^bob team rwxrwxrwx /)
})

test('a file takes no default list', async () => {
  const world = await lakeWorld()
  await world.create('f')
  const acl = parseAcl('user::rwx,group::r--,other::---,default:user::rwx')
  await assert.rejects(set(world, 'f', { acl }), code('DefaultAclOnFileNotAllowed'))
  await assert.rejects(world.create('g', { access: { acl } }), code('DefaultAclOnFileNotAllowed'))
})

test('check access asks the list for each permission', async () => {
  const world = await openWorld()
  await world.create('f', { access: { mode: mode('0754'), umaskBits: 0 } })
  const check = (bits: number) =>
    world.kv.read((tx) => checkAccess(tx, world.at('f', { actor: BOB }), GUARD, bits, world.now.ms))
  await check(4)
  await assert.rejects(check(2), refused)
  await assert.rejects(check(5), refused)
})

test('access control survives a rename, and reaches other users as before', async () => {
  const world = await openWorld()
  await world.create('d/f', { access: { owner: 'ann', mode: mode('0700') } })
  const before = await textOf(world, 'd/f')
  await world.rename('d', 'e')
  assert.equal(await textOf(world, 'e/f'), before)
})

async function changeAll(
  world: LakeWorld,
  request: Partial<ChangeTree>,
  actor?: Actor,
): Promise<TreeChange> {
  const entries = parseAclEntries('user:bob:r-x')
  const whole = { change: { mode: 'modify' as const, entries }, countMax: 2_000, isForced: false }
  const address = world.at('d', actor && { actor })
  return world.write((tx, taken) => {
    return setAccessControlRecursive(tx, address, { ...whole, ...request }, taken.nowMs)
  })
}

test('a recursive change goes through the tree in pages of any size', async () => {
  for (const countMax of [1, 2, 3, 100]) {
    const world = await lakeWorld()
    for (const path of ['d/a', 'd/e/f', 'd/e/g', 'd/h']) await world.create(path)
    let [directories, files] = [0, 0]
    let continuation: string | undefined
    do {
      const page: TreeChange = await changeAll(world, {
        countMax,
        ...(continuation !== undefined && { continuation }),
      })
      directories += page.directoryCount
      files += page.fileCount
      continuation = page.continuation
    } while (continuation !== undefined)
    assert.deepEqual([directories, files], [2, 4])
    for (const path of ['d', 'd/e', 'd/e/g'])
      assert.match(await textOf(world, path), /user:bob:r-x/)
    assert.doesNotMatch(await textOf(world, ''), /bob/)
  }
})

test('a page with a path that the user does not own is the last one, unless the change is forced', async () => {
  const world = await openWorld()
  const own = { access: { owner: 'ann', mode: mode('0755'), umaskBits: 0 } }
  await world.mkdir('d', own)
  await world.create('d/a', own)
  await world.create('d/b')
  await world.create('d/c', own)
  const before = await world.find('d/a')
  const page = { countMax: 3 }
  const stopped = await changeAll(world, page, ANN)
  assert.deepEqual(
    stopped.failures.map(({ path }) => path),
    ['d/b'],
  )
  assert.deepEqual([stopped.directoryCount, stopped.fileCount], [1, 1])
  assert.equal(stopped.continuation, undefined)
  assert.equal((await world.find('d/a'))?.stamp, before?.stamp)
  assert.equal((await changeAll(world, { ...page, isForced: true }, ANN)).continuation, 'b')
  const forced = await changeAll(world, { isForced: true }, ANN)
  assert.deepEqual([forced.directoryCount, forced.fileCount, forced.failures.length], [1, 2, 1])
  assert.equal(forced.continuation, undefined)
})
