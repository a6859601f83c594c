// Lists of SMB users: valid and invalid lines, and a file that changes.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { ntHashOf } from '../../auth/smb/ntlm.ts'
import { smbIdentity } from '../../storage/file/security/smb-identity.ts'
import { decodeAccountList } from './account-list.ts'
import { fixedAccounts } from './accounts.ts'
import { decodeSmbUsers, fixedSmbUsers, openSmbUsers } from './smb-users.ts'
import { StartError } from '../start-error.ts'

const folder = mkdtempSync(join(tmpdir(), 'lazuli-smb-users-'))
after(() => rmSync(folder, { recursive: true }))

const ACCOUNTS = fixedAccounts(decodeAccountList('team:AAAA;Lab:BBBB', 'accounts'))
const SECRET = ntHashOf('secret').toString('hex')

const LINES: readonly (readonly [line: string, name: string, account: string, password: string])[] =
  [
    ['ada:team:secret', 'ada', 'team', 'secret'],
    [' ada : team :secret', 'ada', 'team', 'secret'],
    ['Ada:Lab:with: colons, spaces ', 'Ada', 'Lab', 'with: colons, spaces '],
    ['ada:team:ünïcode\r', 'ada', 'team', 'ünïcode'],
    [`ada:team:nt:${SECRET}`, 'ada', 'team', 'secret'],
    [`ada:team:nt:${SECRET.toUpperCase()}`, 'ada', 'team', 'secret'],
    ['ada.lovelace-1:team:#1', 'ada.lovelace-1', 'team', '#1'],
  ]
for (const [line, name, account, password] of LINES) {
  test(`a user ${JSON.stringify(line)}`, () => {
    const users = decodeSmbUsers(`# ours\n\n${line}\n`, 'X', ACCOUNTS)
    const user = users.get(name.toLowerCase())
    assert.equal(users.size, 1)
    assert.deepEqual([user?.account, user?.identity.name], [account, name])
    assert.deepEqual(Buffer.from(user?.ntHash ?? []), ntHashOf(password))
  })
}

const INVALID_NAME =
  'X, line 1: invalid user name: use up to 64 characters, no spaces and none of "/\\[]:;|=,+*?<>@#'
const FORM = 'expected user:account:password or user:account:nt:hash'
const WRONG: readonly (readonly [text: string, message: string])[] = [
  ['ada', `X, line 1: ${FORM}`],
  ['ada:team', `X, line 1: ${FORM}`],
  ['# ours\nada:team:', `X, line 2: ${FORM}`],
  [
    'ada:team:nt:1234',
    'X, line 1: nt: must be followed by the 32 hexadecimal digits of an NT hash',
  ],
  ['a b:team:secret', INVALID_NAME],
  ['dom\\ada:team:secret', INVALID_NAME],
  [':team:secret', INVALID_NAME],
  ['TEAM:team:secret', 'X, line 1: "TEAM" is the name of an account; choose another user name'],
  ['ada:other:secret', 'X, line 1: the account of "ada" does not exist'],
  ['ada:lab:secret', 'X, line 1: the account of "ada" does not exist'],
  ['ada:team:1\n\nADA:Lab:2', 'X, line 3: "ADA" is listed twice'],
]
for (const [text, message] of WRONG) {
  test(`users ${JSON.stringify(text)} are refused`, () => {
    assert.throws(() => decodeSmbUsers(text, 'X', ACCOUNTS), new StartError(message, 2))
  })
}

test('a changed file takes effect at the next login, and one with errors changes nothing', () => {
  const path = join(folder, 'users')
  writeFileSync(path, 'ada:team:one')
  let nowMs = 1_000_000
  const reports: string[] = []
  const users = openSmbUsers({
    path,
    accounts: ACCOUNTS,
    clock: () => nowMs,
    report: (level, message) => reports.push(`${level} ${message}`),
  })
  assert.deepEqual(users.get('ADA')?.ntHash, ntHashOf('one'))

  writeFileSync(path, 'ada:team:another\ngrace:team:two')
  nowMs += 1_000
  assert.deepEqual(users.get('ada')?.ntHash, ntHashOf('another'))
  assert.equal(users.get('grace')?.account, 'team')
  assert.deepEqual(reports, [`info SMB users reloaded from ${path}: ada, grace`])

  const [, second] = users.identities()
  assert.equal(second?.sid, smbIdentity('team', 'grace').sid)

  writeFileSync(path, 'nonsense')
  nowMs += 1_000
  assert.equal(users.get('grace')?.account, 'team')
  assert.equal(reports[1], `warn SMB users not reloaded: ${path}, line 1: ${FORM}`)
})

test('a missing file is an error at start', () => {
  const path = join(folder, 'none')
  const report = (): void => undefined
  assert.throws(
    () => openSmbUsers({ path, accounts: ACCOUNTS, clock: () => 0, report }),
    /cannot read the SMB users file .*none: no such file/,
  )
})

test('users can be passed from code', () => {
  const users = fixedSmbUsers([{ user: 'Ada', account: 'team', password: 'nt:me' }], ACCOUNTS)
  assert.deepEqual(users.get('ada')?.ntHash, ntHashOf('nt:me'))
  assert.throws(
    () => fixedSmbUsers([{ user: 'ada', account: 'team', password: '' }], ACCOUNTS),
    new StartError('smbUsers[0] has no password', 2),
  )
})
