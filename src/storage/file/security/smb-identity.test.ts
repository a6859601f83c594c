// SIDs of users: stable and unique.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { creatorOf, smbIdentity } from './smb-identity.ts'

test('a SID is derived from account and name', () => {
  const { sid, groupSid } = smbIdentity('account1', 'ada')
  assert.equal(sid, 'S-1-5-21-3626159064-2418971855-3035974459-440099473')
  assert.equal(groupSid, sid.replace(/-\d+$/, '-513'))
})

test('names are case-insensitive and case-preserving', () => {
  const identity = smbIdentity('account1', 'Ada')
  assert.equal(identity.sid, smbIdentity('account1', 'ada').sid)
  assert.equal(identity.name, 'Ada')
})

test('another account or another name gives another SID', () => {
  const sids = [
    ['account1', 'ada'],
    ['account1', 'grace'],
    ['account2', 'ada'],
  ].map(([account = '', name = '']) => smbIdentity(account, name).sid)
  assert.equal(new Set(sids).size, 3)
})

test('the SIDs of a user are its own, that of all users of the account, and the well-known groups', () => {
  const { sid, groupSid, sids } = smbIdentity('account1', 'ada')
  const groups = ['S-1-1-0', 'S-1-5-11', 'S-1-5-32-545', 'S-1-5-2']
  assert.deepEqual([...sids], [sid, groupSid, ...groups])
})

test('a user owns the files that it creates; files created by the account belong to SYSTEM', () => {
  const identity = smbIdentity('account1', 'ada')
  assert.deepEqual(creatorOf(identity), { owner: identity.sid, group: identity.groupSid })
  assert.deepEqual(creatorOf(undefined), { owner: 'S-1-5-18', group: 'S-1-5-18' })
})
