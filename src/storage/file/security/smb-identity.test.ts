// SIDs of users: the same for ever, different for all.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { creatorOf, smbIdentity } from './smb-identity.ts'

test('a SID follows from account and name', () => {
  const { sid, groupSid } = smbIdentity('account1', 'ada')
  assert.equal(sid, 'S-1-5-21-3626159064-2418971855-3035974459-440099473')
  assert.equal(groupSid, sid.replace(/-\d+$/, '-513'))
})

test('names have no case, but are shown as they were written', () => {
  const identity = smbIdentity('account1', 'Ada')
  assert.equal(identity.sid, smbIdentity('account1', 'ada').sid)
  assert.equal(identity.name, 'Ada')
})

test('another account or another name is somebody else', () => {
  const sids = [
    ['account1', 'ada'],
    ['account1', 'grace'],
    ['account2', 'ada'],
  ].map(([account = '', name = '']) => smbIdentity(account, name).sid)
  assert.equal(new Set(sids).size, 3)
})

test('a user is himself, one of the users of the account, and in the groups of who logs in', () => {
  const { sid, groupSid, sids } = smbIdentity('account1', 'ada')
  const groups = ['S-1-1-0', 'S-1-5-11', 'S-1-5-32-545', 'S-1-5-2']
  assert.deepEqual([...sids], [sid, groupSid, ...groups])
})

test('what a user makes is his; what the account makes is the system’s', () => {
  const identity = smbIdentity('account1', 'ada')
  assert.deepEqual(creatorOf(identity), { owner: identity.sid, group: identity.groupSid })
  assert.deepEqual(creatorOf(undefined), { owner: 'S-1-5-18', group: 'S-1-5-18' })
})
