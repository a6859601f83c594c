import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import {
  decodeAccountList,
  decodeAccountsJson,
  WELL_KNOWN_KEY,
  wellKnownAccounts,
  type AccountMap,
} from './account-list.ts'
import { openAccounts, readAccounts, wellKnownKeyWarning, type AccountSources } from './accounts.ts'
import { StartError } from '../start-error.ts'

const folder = mkdtempSync(join(tmpdir(), 'lazuli-accounts-'))
after(() => rmSync(folder, { recursive: true }))

const NOWHERE: AccountSources = { env: {}, accountsFile: undefined, configPath: undefined }

/** a1=k1,k2 a2=k1 */
function summary(accounts: ReadonlyMap<string, { keys: readonly { text: string }[] }>): string {
  const each = [...accounts].map(([name, { keys }]) => `${name}=${keys.map((k) => k.text).join()}`)
  return each.join(' ')
}

const LISTS: readonly [string, string][] = [
  ['a1:AAAA', 'a1=AAAA'],
  ['a1:AAAA:BBBB;a2:CCC=;', 'a1=AAAA,BBBB a2=CCC='],
  [' a1 : AAAA ; a2 : CC== ', 'a1=AAAA a2=CC=='],
  ['"a1:AAAA;a2:BBBB"', 'a1=AAAA a2=BBBB'],
  [`'a1:"AAAA"';"a2":'BBBB'`, 'a1=AAAA a2=BBBB'],
  // Azurite's documentation has no such key, but its users have.
  ['a1:testing_key;a2:AAA', 'a1=testing_key a2=AAA'],
  ['# ours\na1:AAAA\r\na2:BBBB\n\n', 'a1=AAAA a2=BBBB'],
]

for (const [text, expected] of LISTS) {
  test(`accounts ${JSON.stringify(text)}`, () => {
    assert.equal(summary(decodeAccountList(text, 'X')), expected)
  })
}

const INVALID_NAME = 'is not a valid account name: use up to 63 letters and digits'

const WRONG_LISTS: readonly [string, string][] = [
  ['a1', 'X: account "a1" has no key; write name:key'],
  ['a1:', 'X: key 1 of account "a1" is empty'],
  ['a1:AAAA:!!!', 'X: key 2 of account "a1" is not base64'],
  ['a1:AAAA:AAAA:AAAA', 'X: account "a1" has more than two keys'],
  ['a1:AAAA;a1:BBBB', 'X: account "a1" is listed twice'],
  ['a/b:AAAA', `X: "a/b" ${INVALID_NAME}`],
  [
    'a-secondary:AAAA',
    'X: "a-secondary" is reserved for the secondary endpoint of another account',
  ],
  [';', 'X contains no account; write name:key'],
  [WELL_KNOWN_KEY, `X: "Eby8vdM02xNO…" ${INVALID_NAME}`],
]

for (const [text, message] of WRONG_LISTS) {
  test(`accounts ${JSON.stringify(text)} are refused`, () => {
    assert.throws(() => decodeAccountList(text, 'X'), new StartError(message, 2))
  })
}

test('accounts in lazuli.json are a list or an object', () => {
  const json = { a1: 'AAAA:BBBB', a2: ['CCCC', 'DDDD'], a3: 'EEEE' }
  assert.equal(summary(decodeAccountsJson(json, 'X')), 'a1=AAAA,BBBB a2=CCCC,DDDD a3=EEEE')
  assert.equal(summary(decodeAccountsJson('a1:AAAA', 'X')), 'a1=AAAA')
  assert.throws(() => decodeAccountsJson({ a1: 5 }, 'X'), /X: account "a1" must have a key/)
  assert.throws(() => decodeAccountsJson(['a1:AAAA'], 'X'), /X must be "name:key1/)
})

test('an account with hns has a hierarchical namespace', () => {
  const lakes = (accounts: AccountMap): string =>
    [...accounts.values()].flatMap((each) => (each.isHierarchical ? each.name : [])).join()
  const list = 'a1:AAAA:hns=true;a2:AAAA:BBBB:hns=true;a3:AAAA:hns=false;a4:AAAA:BBBB'
  assert.equal(lakes(decodeAccountList(list, 'X')), 'a1,a2')
  assert.equal(summary(decodeAccountList(list, 'X')), 'a1=AAAA a2=AAAA,BBBB a3=AAAA a4=AAAA,BBBB')
  const json = {
    a1: { key: 'AAAA', hns: true },
    a2: { keys: ['AAAA', 'BBBB'], hns: true },
    a3: { key: ['AAAA', 'BBBB'] },
    a4: 'AAAA:hns=true',
  }
  assert.equal(lakes(decodeAccountsJson(json, 'X')), 'a1,a2,a4')
  assert.equal(summary(decodeAccountsJson(json, 'X')), 'a1=AAAA a2=AAAA,BBBB a3=AAAA,BBBB a4=AAAA')
  assert.equal(lakes(wellKnownAccounts()), 'devlake1')
})

const BAD_LAKES: readonly [unknown, RegExp][] = [
  ['a1:AAAA:hns=yes', /write hns=true or hns=false for account "a1"/],
  ['a1:hns=true', /account "a1" has no key/],
  [{ a1: { key: 'AAAA', hns: 'yes' } }, /"hns" of account "a1" must be true or false/],
  [{ a1: { key: 'AAAA', hsn: true } }, /"key" or "keys", and "hns"/],
  [{ a1: { hns: true } }, /account "a1" has no key/],
]
for (const [given, message] of BAD_LAKES) {
  test(`the accounts ${JSON.stringify(given)} are refused`, () => {
    assert.throws(() => decodeAccountsJson(given, 'X'), message)
  })
}

test('accounts come from the environment, a file or lazuli.json', () => {
  const file = join(folder, 'sources')
  const configPath = join(folder, 'sources.json')
  writeFileSync(file, 'filed:AAAA')
  writeFileSync(configPath, '{ "accounts": "configured:AAAA", "blobPort": 1 }')
  const env = { LAZULI_ACCOUNTS: 'ours:AAAA', AZURITE_ACCOUNTS: 'theirs:AAAA' }
  const names = (sources: Partial<AccountSources>): string =>
    [...readAccounts({ ...NOWHERE, ...sources }).keys()].join()
  assert.equal(names({}), 'devstoreaccount1,devlake1')
  assert.equal(names({ configPath: join(folder, 'none.json') }), 'devstoreaccount1,devlake1')
  assert.equal(names({ configPath }), 'configured')
  assert.equal(names({ configPath, accountsFile: file }), 'filed')
  assert.equal(names({ configPath, env: { AZURITE_ACCOUNTS: env.AZURITE_ACCOUNTS } }), 'theirs')
  assert.equal(names({ configPath, env }), 'ours')
  assert.equal(names({ env: { LAZULI_ACCOUNTS: ' ' } }), 'devstoreaccount1,devlake1')
  assert.throws(
    () => names({ env, accountsFile: file }),
    /given both by LAZULI_ACCOUNTS and by --acc/,
  )
  assert.throws(() => names({ accountsFile: join(folder, 'none') }), /cannot read the accounts fi/)
})

test('a lookup sees a changed file within a second, and a file with errors changes nothing', () => {
  const accountsFile = join(folder, 'changing')
  writeFileSync(accountsFile, 'a1:AAAA')
  let nowMs = 1_000_000
  const reports: string[] = []
  const accounts = openAccounts({
    sources: { ...NOWHERE, accountsFile },
    clock: () => nowMs,
    report: (level, message) => reports.push(`${level} ${message}`),
  })
  assert.equal(accounts.get('a1')?.keys[0]?.text, 'AAAA')

  writeFileSync(accountsFile, 'a1:BBBBBBBB;a2:CCCC')
  nowMs += 999
  assert.deepEqual(accounts.names(), ['a1'])
  nowMs += 1
  assert.equal(accounts.get('a1')?.keys[0]?.text, 'BBBBBBBB')
  assert.deepEqual(accounts.names(), ['a1', 'a2'])
  assert.deepEqual(reports, [`info accounts reloaded from ${accountsFile}: a1, a2`])

  writeFileSync(accountsFile, 'a1:?')
  nowMs += 1000
  assert.deepEqual(accounts.names(), ['a1', 'a2'])
  nowMs += 1000
  assert.deepEqual(accounts.names(), ['a1', 'a2'])
  assert.match(reports[1] ?? '', /^warn accounts not reloaded: .* key 1 of account "a1"/)
  assert.equal(reports.length, 2)
})

test('accounts that are added to lazuli.json replace the default', () => {
  const configPath = join(folder, 'later.json')
  let nowMs = 0
  const report = (): void => undefined
  const sources = { ...NOWHERE, configPath }
  const accounts = openAccounts({ sources, clock: () => nowMs, report })
  assert.deepEqual(accounts.names(), ['devstoreaccount1', 'devlake1'])
  writeFileSync(configPath, '{ "accounts": { "mine": "AAAA" } }')
  nowMs = 1000
  assert.deepEqual(accounts.names(), ['mine'])
})

const WARNINGS: readonly [string[], string, boolean][] = [
  [['127.0.0.1', '::1', 'localhost'], `a:${WELL_KNOWN_KEY}`, false],
  [['127.0.0.1', '0.0.0.0'], `a:${WELL_KNOWN_KEY}`, true],
  [['::'], `a:AAAA:${WELL_KNOWN_KEY}`, true],
  [['192.168.1.2'], `a:AAAA;b:${WELL_KNOWN_KEY}`, true],
  [['0.0.0.0'], 'devstoreaccount1:AAAA', false],
]

for (const [hosts, list, warns] of WARNINGS) {
  test(`well-known key on ${hosts.join()} ${warns ? 'warns' : 'is quiet'}`, () => {
    const warning = wellKnownKeyWarning(hosts, [...decodeAccountList(list, 'X').values()])
    assert.equal(warning !== undefined, warns)
    assert.doesNotMatch(warning ?? '', /Eby8/)
  })
}
