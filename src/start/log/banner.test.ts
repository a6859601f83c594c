import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeAccountList, WELL_KNOWN_KEY, wellKnownAccounts } from '../account/account-list.ts'
import {
  bannerLines,
  closedLine,
  closingLine,
  connectionString,
  listeningLine,
  memoryLine,
  startingLine,
  type Banner,
  type Endpoint,
} from './banner.ts'
import type { Program } from '../options/services.ts'
import { smbIdentity } from '../../storage/file/security/smb-identity.ts'
import { connectHost, isLoopbackHost, urlOf } from '../host.ts'

const BLOB: Endpoint = { service: 'blob', protocol: 'http', host: '127.0.0.1', port: 10_000 }
const QUEUE: Endpoint = { service: 'queue', protocol: 'http', host: '0.0.0.0', port: 10_001 }
const SMB: Endpoint = { service: 'smb', protocol: 'smb', host: '127.0.0.1', port: 10_445 }

const BANNER: Banner = {
  allowsHttp: false,
  version: '1.2.3',
  endpoints: [BLOB, QUEUE, SMB],
  adminUrl: 'http://127.0.0.1:10010',
  websiteUrl: 'http://127.0.0.1:10004',
  moved: [],
  location: '/work/.lazuli',
  accounts: [...wellKnownAccounts().values()],
  ca: undefined,
  platform: 'linux',
}

// What Azurite 3.37 prints, by the name of the command.
const LINES: readonly [Program, Endpoint, string, string][] = [
  [
    'lazuli',
    BLOB,
    'Lazuli Blob service is starting at http://127.0.0.1:10000',
    'Lazuli Blob service is successfully listening at http://127.0.0.1:10000',
  ],
  [
    'azurite',
    QUEUE,
    'Azurite Queue service is starting at http://0.0.0.0:10001',
    'Azurite Queue service is successfully listening at http://0.0.0.0:10001',
  ],
  [
    'azurite',
    { ...BLOB, protocol: 'https' },
    'Azurite Blob service is starting at https://127.0.0.1:10000',
    'Azurite Blob service is successfully listening at https://127.0.0.1:10000',
  ],
  [
    'azurite-blob',
    BLOB,
    'Azurite Blob service is starting on 127.0.0.1:10000',
    'Azurite Blob service successfully listens on http://127.0.0.1:10000',
  ],
  [
    'azurite-table',
    { ...BLOB, service: 'table', port: 10_002 },
    'Azurite Table service is starting on 127.0.0.1:10002',
    'Azurite Table service successfully started on 127.0.0.1:10002',
  ],
]

for (const [program, endpoint, starting, listening] of LINES) {
  test(`${program} prints: ${listening}`, () => {
    assert.equal(startingLine(program, endpoint), starting)
    assert.equal(listeningLine(program, endpoint), listening)
  })
}

test("the closing lines are Azurite's", () => {
  assert.equal(closingLine('azurite', 'blob'), 'Azurite Blob service is closing...')
  assert.equal(closedLine('azurite', 'table'), 'Azurite Table service successfully closed')
  assert.equal(closedLine('lazuli', 'file'), 'Lazuli File service successfully closed')
})

test("the memory line is Azurite's", () => {
  assert.equal(
    memoryLine(64 * 1024 * 1024, 1024 * 1024 * 1024),
    'In-memory extent storage is enabled with a limit of 64.00 MB (67108864 bytes, 6% of total memory).',
  )
})

test('the connection string is the well-known one', () => {
  const [account] = BANNER.accounts
  assert(account)
  assert.equal(
    connectionString([BLOB, QUEUE, SMB], account),
    'DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;' +
      `AccountKey=${WELL_KNOWN_KEY};` +
      'BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1;' +
      'QueueEndpoint=http://127.0.0.1:10001/devstoreaccount1;',
  )
})

test('the endpoint of Data Lake Storage is named for accounts with a hierarchical namespace only', () => {
  const [flat] = BANNER.accounts
  const account = BANNER.accounts.find(({ isHierarchical }) => isHierarchical)
  assert(flat && account)
  const dfs: Endpoint = { service: 'dfs', protocol: 'http', host: '127.0.0.1', port: 10_005 }
  assert.match(
    connectionString([BLOB, dfs], account),
    /DfsEndpoint=http:\/\/127.0.0.1:10005\/devlake1;/,
  )
  assert.doesNotMatch(connectionString([BLOB, dfs], flat), /Dfs/)
})

test('no other key is printed', () => {
  const accounts = [...decodeAccountList('mine:c2VjcmV0', 'X').values()]
  const text = bannerLines({ ...BANNER, accounts }).join('\n')
  assert.doesNotMatch(text, /c2VjcmV0/)
  assert.match(text, /AccountName=mine;AccountKey=<key of mine>;/)
})

test('the banner lists endpoints, location, accounts, and connection strings', () => {
  const lines = bannerLines(BANNER)
  const [account, lake] = BANNER.accounts
  assert(account && lake)
  assert.deepEqual(lines, [
    '',
    'Lazuli 1.2.3',
    '',
    '  Blob       http://127.0.0.1:10000/devstoreaccount1',
    '  Queue      http://127.0.0.1:10001/devstoreaccount1',
    '  SMB        smb://127.0.0.1:10445',
    '  Website    http://127.0.0.1:10004',
    '  Console    http://127.0.0.1:10010/',
    '  Admin      http://127.0.0.1:10010/health/ready and http://127.0.0.1:10010/metrics',
    '  Location   /work/.lazuli',
    '  Accounts   devstoreaccount1, devlake1',
    '',
    connectionString(BANNER.endpoints, account),
    '',
    connectionString(BANNER.endpoints, lake),
    '',
  ])
})

test('SMB users are printed with their SIDs, up to a limit', () => {
  const users = Array.from({ length: 23 }, (_, i) => smbIdentity('team', `user${i}`))
  const lines = bannerLines({ ...BANNER, smbUsers: users }).filter((line) => /SMB user/.test(line))
  assert.equal(lines[0], `  SMB user   user0, ${users[0]?.sid}`)
  assert.equal(lines.length, 21)
  assert.equal(lines[20], '  SMB user   and 3 more')
})

test('the banner explains how to trust the CA', () => {
  const text = (values: Partial<Banner>): string => bannerLines({ ...BANNER, ...values }).join('\n')
  const kept = text({ ca: { path: '/my data/ca.pem' } })
  assert.match(kept, /sudo cp "\/my data\/ca.pem" \/usr\/local\/share\/ca-certificates\/lazuli.crt/)
  assert.match(kept, /NODE_EXTRA_CA_CERTS="\/my data\/ca.pem"/)
  const inMemory = text({ location: undefined, ca: { path: undefined }, platform: 'darwin' })
  assert.match(inMemory, /in memory, lost when the server stops/)
  assert.match(inMemory, /curl -o ca.pem http:\/\/127.0.0.1:10010\/ca.pem/)
  assert.match(inMemory, /security add-trusted-cert .* ca.pem/)
})

const HOSTS: readonly [string, boolean, string][] = [
  ['127.0.0.1', true, 'http://127.0.0.1:1'],
  ['127.1.2.3', true, 'http://127.1.2.3:1'],
  ['localhost', true, 'http://localhost:1'],
  ['a.localhost', true, 'http://a.localhost:1'],
  ['::1', true, 'http://[::1]:1'],
  ['0:0:0:0:0:0:0:1', true, 'http://[0:0:0:0:0:0:0:1]:1'],
  ['0.0.0.0', false, 'http://127.0.0.1:1'],
  ['::', false, 'http://[::1]:1'],
  ['::2', false, 'http://[::2]:1'],
  ['192.168.1.1', false, 'http://192.168.1.1:1'],
  ['127.evil.com', false, 'http://127.evil.com:1'],
  ['localhost.evil.com', false, 'http://localhost.evil.com:1'],
]

for (const [host, loopback, url] of HOSTS) {
  test(`${host} is ${loopback ? '' : 'not '}loopback, and a client uses ${url}`, () => {
    assert.equal(isLoopbackHost(host), loopback)
    assert.equal(urlOf('http', connectHost(host), 1), url)
  })
}
