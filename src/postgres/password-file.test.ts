// The password file. https://www.postgresql.org/docs/15/libpq-pgpass.html
import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { matchPassword, passwordFromFile } from './password-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'lazuli-pgpass-'))
after(() => rmSync(folder, { recursive: true }))

const QUERY = { host: 'db.test', port: 5_432, database: 'store', user: 'me' }

// prettier-ignore
const CASES: readonly (readonly [string, Partial<typeof QUERY>, string | undefined])[] = [
  ['db.test:5432:store:me:secret', {}, 'secret'],
  ['*:*:*:*:secret', {}, 'secret'],
  ['db.test:*:*:me:one\n*:*:*:*:two', {}, 'one'],
  ['other:*:*:*:one\n*:*:*:*:two', {}, 'two'],
  ['db.test:5433:store:me:secret', {}, undefined],
  ['#db.test:5432:store:me:secret', {}, undefined],
  ['db.test:5432:store:me:a\\:b\\\\c', {}, 'a:b\\c'],
  ['[\\:\\:1]:*:*:*:no\n\\:\\:1:*:*:*:yes', { host: '::1' }, 'yes'],
  ['localhost:*:*:*:socket', { host: '/run/postgresql' }, 'socket'],
  ['db.test:5432:store:me:secret\r\n', {}, 'secret'],
  ['db.test:5432:store', {}, undefined],
  ['', {}, undefined],
]

for (const [text, query, expected] of CASES) {
  test(`${JSON.stringify(text)} ${JSON.stringify(query)}`, () => {
    assert.equal(matchPassword(text, { ...QUERY, ...query }), expected)
  })
}

test('a file that others can read is refused, with what to do', async () => {
  const file = join(folder, 'open')
  writeFileSync(file, '*:*:*:*:secret')
  chmodSync(file, 0o644)
  await assert.rejects(passwordFromFile(file, QUERY), /may be read by others. Run: chmod 600/)
  chmodSync(file, 0o600)
  assert.equal(await passwordFromFile(file, QUERY), 'secret')
})

test('a missing file has no password', async () => {
  assert.equal(await passwordFromFile(join(folder, 'none'), QUERY), undefined)
  assert.equal(await passwordFromFile(folder, QUERY), undefined)
})
