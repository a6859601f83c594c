// Who may do what: the steps of Azure's documentation, as a table and against a second reading of them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { AccessControl } from './acl.ts'
import { parseAcl } from './acl-text.ts'
import {
  isAllowed,
  isKeptBySticky,
  mayChangeAccess,
  mayChangeOwner,
  SUPERUSER_ACTOR,
  type Actor,
} from './actor.ts'

const user = (objectId: string, ...groups: string[]): Actor => ({ kind: 'user', objectId, groups })
const control = (acl: string, isSticky = false): AccessControl => {
  return { owner: 'owner', group: 'staff', isSticky, acl: parseAcl(acl) }
}

// prettier-ignore
const ALLOWED: readonly [acl: string, actor: Actor, permissions: number][] = [
  ['user::r--,group::---,other::rwx', user('owner'), 4],
  ['user::---,group::---,other::---', SUPERUSER_ACTOR, 7],
  ['user::---,group::---,other::---,user:bob:rw-,mask::r--', user('bob'), 4],
  ['user::---,group::---,other::---,user:bob:rw-', user('BOB'), 6],
  ['user::---,group::r-x,other::---', user('eve', 'staff'), 5],
  ['user::---,group::---,other::---,group:devs:r--', user('eve', 'devs'), 4],
  ['user::---,group::r--,other::---,group:devs:-w-', user('eve', 'staff', 'devs'), 2],
  ['user::---,group::---,other::r--', user('eve', 'staff'), 4],
  ['user::---,group::---,other::--x', user('eve'), 1],
]
for (const [acl, actor, permissions] of ALLOWED) {
  const who = actor.kind === 'user' ? actor.objectId : actor.kind
  test(`${acl} grants ${permissions} to ${who}`, () => {
    assert(isAllowed(actor, control(acl), permissions))
  })
}

// prettier-ignore
const REFUSED: readonly [acl: string, actor: Actor, permissions: number][] = [
  ['user::r--,group::---,other::rwx', user('owner'), 2],
  ['user::---,group::---,other::---,user:bob:rw-,mask::r--', user('bob'), 2],
  ['user::rwx,group::rwx,other::rwx,user:bob:---', user('bob', 'staff'), 1],
  ['user::---,group::r--,other::---,group:devs:-w-', user('eve', 'staff', 'devs'), 6],
  ['user::---,group::---,other::rwx,user:bob:rwx,mask::r--', user('eve'), 2],
  ['user::---,group::rwx,other::---,mask::r--', user('eve', 'staff'), 2],
  ['user::rwx,group::rwx,other::---', user('eve'), 1],
]
for (const [acl, actor, permissions] of REFUSED) {
  const who = actor.kind === 'user' ? actor.objectId : actor.kind
  test(`${acl} does not grant ${permissions} to ${who}`, () => {
    assert(!isAllowed(actor, control(acl), permissions))
  })
}

test('whoever may do more may do less', () => {
  const rwx = fc.constantFrom('---', 'r--', '-w-', '--x', 'rw-', 'r-x', '-wx', 'rwx')
  const acls = fc
    .tuple(rwx, rwx, rwx, rwx, rwx)
    .map(([u, b, g, m, o]) => `user::${u},user:bob:${b},group::${g},mask::${m},other::${o}`)
  const actors = fc.constantFrom(user('owner'), user('bob'), user('eve', 'staff'), user('mallory'))
  const bits = fc.integer({ min: 0, max: 7 })
  fc.assert(
    fc.property(acls, actors, bits, bits, (acl, actor, some, fewer) => {
      if (isAllowed(actor, control(acl), some)) {
        assert(isAllowed(actor, control(acl), some & fewer))
      }
    }),
  )
})

const PLAIN = 'user::rwx,group::rwx,other::rwx'

test('only the owner and superusers change permissions', () => {
  assert(mayChangeAccess(user('owner'), control(PLAIN)))
  assert(mayChangeAccess(SUPERUSER_ACTOR, control(PLAIN)))
  assert(!mayChangeAccess(user('bob', 'staff'), control(PLAIN)))
})

test('an owner gives a path to a group of theirs, and to nobody else', () => {
  const path = control(PLAIN)
  assert(mayChangeOwner(user('owner', 'devs'), path, { group: 'devs' }))
  assert(!mayChangeOwner(user('owner'), path, { group: 'devs' }))
  assert(!mayChangeOwner(user('owner'), path, { owner: 'bob' }))
  assert(!mayChangeOwner(user('bob', 'devs'), path, { group: 'devs' }))
  assert(mayChangeOwner(user('bob'), path, { owner: 'owner', group: 'staff' }))
  assert(mayChangeOwner(SUPERUSER_ACTOR, path, { owner: 'bob', group: 'devs' }))
})

test('a sticky directory keeps its entries from all but two owners', () => {
  const sticky = control(PLAIN, true)
  assert(isKeptBySticky(user('eve'), sticky, { owner: 'bob' }))
  assert(!isKeptBySticky(user('bob'), sticky, { owner: 'bob' }))
  assert(!isKeptBySticky(user('owner'), sticky, { owner: 'bob' }))
  assert(!isKeptBySticky(SUPERUSER_ACTOR, sticky, { owner: 'bob' }))
  assert(!isKeptBySticky(user('eve'), control(PLAIN), { owner: 'bob' }))
})
