// Settings as libpq reads them. https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING
import assert from 'node:assert/strict'
import { userInfo } from 'node:os'
import { test } from 'node:test'
import { connectionSettings, settingsText, type ConnectionSettings } from './settings.ts'

type Case = readonly [
  url: string,
  env: Record<string, string>,
  expected: Partial<ConnectionSettings>,
]

const HOME = { HOME: '/h' }
const host = (name: string, port = 5_432) => ({ host: name, port })

// prettier-ignore
const CASES: readonly Case[] = [
  ['postgres://me@db.test/store', {}, { user: 'me', database: 'store', hosts: [host('db.test')], sslMode: 'prefer' }],
  ['postgresql://me@db.test:6000/store', {}, { hosts: [host('db.test', 6_000)] }],
  ['postgres://me:s%40crit@db.test/store', {}, { user: 'me', password: 's@crit' }],
  ['postgres://me:a:b@db.test/store', {}, { password: 'a:b' }],
  ['postgres://me@db.test', {}, { database: 'me' }],
  ['postgres://db.test/store', {}, { user: userInfo().username }],
  ['postgres:///store', {}, { hosts: [host('/var/run/postgresql')] }],
  ['postgres:///store?host=/run/pg&port=5433', {}, { hosts: [host('/run/pg', 5_433)] }],
  ['postgres://%2Frun%2Fpg/store', {}, { hosts: [host('/run/pg')] }],
  ['postgres://[::1]:6000/store', {}, { hosts: [host('::1', 6_000)] }],
  ['postgres://a:1,b:2/store', {}, { hosts: [host('a', 1), host('b', 2)] }],
  ['postgres://a,b/store?port=7', {}, { hosts: [host('a', 7), host('b', 7)] }],
  ['postgres:///store', { PGHOST: 'env.test', PGPORT: '7', PGUSER: 'you', PGPASSWORD: 'p' }, { hosts: [host('env.test', 7)], user: 'you', password: 'p' }],
  ['postgres://me:mine@db.test/store', { PGUSER: 'you', PGPASSWORD: 'yours', PGDATABASE: 'other' }, { user: 'me', password: 'mine', database: 'store' }],
  ['postgres://db.test', { PGDATABASE: 'other' }, { database: 'other' }],
  ['postgres://db.test/x?sslmode=verify-full&sslrootcert=/ca.pem', {}, { sslMode: 'verify-full', sslRootCert: '/ca.pem' }],
  ['postgres://db.test/x', { PGSSLMODE: 'require' }, { sslMode: 'require' }],
  ['postgres://db.test/x?sslrootcert=system', {}, { sslMode: 'verify-full' }],
  ['postgres://db.test/x', HOME, { passwordFile: '/h/.pgpass', sslFolder: '/h/.postgresql' }],
  ['postgres://db.test/x?passfile=/p', HOME, { passwordFile: '/p' }],
  ['postgres://db.test/x', { PGPASSFILE: '/q' }, { passwordFile: '/q' }],
  ['postgres://db.test/x?application_name=mine', {}, { applicationName: 'mine' }],
  ['postgres://db.test/x?target_session_attrs=read-write', {}, {}],
]

for (const [url, env, expected] of CASES) {
  test(`${url} ${JSON.stringify(env)}`, () => {
    assert.partialDeepStrictEqual(connectionSettings(url, env), expected)
  })
}

// prettier-ignore
const REFUSED: readonly (readonly [string, RegExp])[] = [
  ['mysql://db.test/x', /must look like postgres:\/\//],
  ['postgres://db.test/x?sslmode=maybe', /sslmode=maybe is not one of/],
  ['postgres://db.test/x?colour=red', /Unknown parameter "colour"/],
  ['postgres://db.test:0/x', /not a port/],
  ['postgres://db.test:70000/x', /not a port/],
  ['postgres://a,b,c/x?port=1,2', /one port, or one for each host/],
  ['postgres://%zz/x', /percent-encoding/],
  ['postgres://db.test/x?target_session_attrs=standby', /only a primary will do/],
  ['postgres://db.test/x?sslrootcert=system&sslmode=require', /needs sslmode=verify-full/],
  ['postgres://::1/x', /is not a host/],
]

for (const [url, message] of REFUSED) {
  test(`refused: ${url}`, () => assert.throws(() => connectionSettings(url, {}), message))
}

test('messages never contain the password', () => {
  const settings = connectionSettings('postgres://me:secret@a,b:2/x?port=1,2', {})
  assert.equal(settingsText(settings), 'postgres://me@a:1,b:2/x')
  assert.throws(
    () => connectionSettings('postgres://me:secret@db.test:x/y', {}),
    (error: Error) => !error.message.includes('secret'),
  )
})
