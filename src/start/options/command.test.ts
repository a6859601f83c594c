import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { decodeCommand, programOf, type Command, type StartCommand } from './command.ts'
import { unknownVariables } from './decode-options.ts'
import { envName, extentMemoryLimitBytes, SETTING_NAMES, type Options } from './options.ts'
import { StartError } from '../start-error.ts'

const cwd = mkdtempSync(join(tmpdir(), 'lazuli-command-'))
after(() => rmSync(cwd, { recursive: true }))

type Line = { program?: string; args?: string; env?: Record<string, string>; config?: unknown }

function decode({ program = 'lazuli', args = '', env = {}, config }: Line): Command {
  const path = join(cwd, 'lazuli.json')
  rmSync(path, { force: true })
  const text = typeof config === 'string' ? config : JSON.stringify(config)
  if (config !== undefined) writeFileSync(path, text)
  const argv = ['node', `/usr/bin/${program}`, ...args.split(' ').filter((word) => word !== '')]
  return decodeCommand({ argv, env, cwd, version: '1.2.3' })
}

function start(line: Line): StartCommand {
  const command = decode(line)
  assert(command.kind === 'start')
  return command
}

const ACCEPTED: readonly [string, Line, Partial<Options>][] = [
  ['the defaults', {}, { blobHost: '127.0.0.1', blobPort: 10_000, queuePort: 10_001 }],
  ['the defaults of files', {}, { filePort: 10_003, smbPort: 10_445, adminPort: 10_010 }],
  ['start', { args: 'start --blobPort 0' }, { blobPort: 0 }],
  ['=', { args: '--blobHost=0.0.0.0' }, { blobHost: '0.0.0.0' }],
  ['IPv6', { args: '--blobHost ::1' }, { blobHost: '::1' }],
  ['short flags', { args: '-s -L -l /d -d x.log' }, { silent: true, loose: true, location: '/d' }],
  ['short flags together', { args: '-sL' }, { silent: true, loose: true }],
  ['the last of two', { args: '--blobPort 1 --blobPort 2' }, { blobPort: 2 }],
  ['a switch set', { args: '--silent=false', env: { LAZULI_SILENT: '1' } }, { silent: false }],
  [
    'a database',
    { args: '--store postgres://x --bytes folder:/mnt' },
    { store: 'postgres://x', bytes: 'folder:/mnt' },
  ],
  [
    '--host for all services, but not for the admin port',
    { args: '--host 0.0.0.0 --queueHost 127.0.0.2' },
    { blobHost: '0.0.0.0', queueHost: '127.0.0.2', smbHost: '0.0.0.0', adminHost: '127.0.0.1' },
  ],
  [
    '--portOffset for the ports that are not given',
    { args: '--portOffset 100 --tablePort 7', env: { LAZULI_FILE_PORT: '8' } },
    { blobPort: 10_100, tablePort: 7, filePort: 8, adminPort: 10_110, smbPort: 10_545 },
  ],
  ['services in a file', { config: { services: ['blob', 'web'] } }, { services: ['blob', 'web'] }],
  ['env', { env: { LAZULI_TABLE_PORT: '7' } }, { tablePort: 7 }],
  ['empty env', { env: { LAZULI_TABLE_PORT: '' } }, { tablePort: 10_002 }],
  ['a service link', { env: { LAZULI_BLOB_PORT: 'tcp://10.0.0.11:10000' } }, { blobPort: 10_000 }],
  [
    "Azurite's env",
    { env: { AZURITE_SKIP_API_VERSION_CHECK: 'true' } },
    { skipApiVersionCheck: true },
  ],
  ['file', { config: { blobPort: 8, silent: true, log: 'json' } }, { blobPort: 8, log: 'json' }],
  [
    'a list in a file',
    { config: { https: 'auto', httpsNames: ['A', 'b'] } },
    { httpsNames: ['a', 'b'] },
  ],
  ['scopes', { args: '--encryptionScopes One,two-2' }, { encryptionScopes: ['One', 'two-2'] }],
  [
    'scopes in a file',
    { config: { encryptionScopes: ['one', ' two'] } },
    { encryptionScopes: ['one', 'two'] },
  ],
  [
    'a list given twice',
    { args: '--https auto --httpsNames a,b --httpsNames c' },
    { httpsNames: ['a', 'b', 'c'] },
  ],
  [
    'servers to copy from',
    { args: '--allowCopyFrom https://*.example.com --allowCopyFrom http://127.0.0.1:8080/x/*' },
    {
      allowCopyFrom: [
        { protocol: 'https:', hostname: '*.example.com', port: '', path: undefined, prefix: false },
        { protocol: 'http:', hostname: '127.0.0.1', port: '8080', path: '/x/', prefix: true },
      ],
    },
  ],
  ['accounts in a file', { config: { $schema: 'x', accounts: { a: 'AAAA' } } }, {}],
  ['a byte order mark', { config: '\uFEFF{ "blobPort": 8 }' }, { blobPort: 8 }],
  ['env over file', { env: { LAZULI_BLOB_PORT: '2' }, config: { blobPort: 3 } }, { blobPort: 2 }],
  ['flag over env', { args: '--blobPort 1', env: { LAZULI_BLOB_PORT: '2' } }, { blobPort: 1 }],
  [
    'unchecked tokens from other machines, if they are allowed',
    { args: '--oauth basic --blobHost 0.0.0.0 --oauthAcceptForgedTokens' },
    { oauth: 'basic', blobHost: '0.0.0.0', oauthAcceptForgedTokens: true },
  ],
  [
    'signed tokens from other machines',
    { args: '--oauth basic --blobHost 0.0.0.0 --oauthIssuer https://id.example' },
    { oauth: 'basic', blobHost: '0.0.0.0', oauthIssuer: 'https://id.example' },
  ],
  ['a choice in capitals', { args: '--oauth BASIC' }, { oauth: 'basic' }],
  [
    'memory instead of the location of an image',
    { args: '--inMemoryPersistence', env: { LAZULI_LOCATION: '/data' } },
    { inMemoryPersistence: true },
  ],
  [
    'memory by environment instead of the location of an image',
    { env: { LAZULI_LOCATION: '/data', LAZULI_IN_MEMORY_PERSISTENCE: 'true' } },
    { inMemoryPersistence: true },
  ],
  [
    'a database by environment instead of the location of an image',
    { env: { LAZULI_LOCATION: '/data', LAZULI_STORE: 'postgres://x/y' } },
    { store: 'postgres://x/y' },
  ],
  [
    'a database by flag instead of the location of an image',
    { args: '--store postgres://x/y', env: { LAZULI_LOCATION: '/data' } },
    { store: 'postgres://x/y' },
  ],
  [
    "Aspire's command line",
    {
      program: 'azurite',
      args: '-l /data --blobHost 0.0.0.0 --queueHost 0.0.0.0 --tableHost 0.0.0.0 --disableProductStyleUrl --skipApiVersionCheck',
    },
    { location: '/data', tableHost: '0.0.0.0', disableProductStyleUrl: true },
  ],
  [
    "Testcontainers' command line",
    {
      program: 'azurite',
      args: '--blobHost 0.0.0.0 --inMemoryPersistence --extentMemoryLimit 64.5 --disableTelemetry',
    },
    { inMemoryPersistence: true, extentMemoryLimit: 64.5, disableTelemetry: true },
  ],
]

for (const [name, line, expected] of ACCEPTED) {
  test(`options: ${name}`, () => {
    const { options } = start(line)
    assert.partialDeepStrictEqual(options, expected)
  })
}

const REFUSED: readonly [Line, RegExp][] = [
  [
    { args: '--allowCopyFrom example.com' },
    /^--allowCopyFrom example\.com is not a valid pattern: it must begin with a scheme/,
  ],
  [
    { args: '--allowCopyFrom https://example.com/x?sig=secret' },
    /^--allowCopyFrom https:\/\/example\.com\/x is not a valid pattern: it must not hold a query/,
  ],
  [{ args: '--blbo 1' }, /^unknown flag --blbo; see --help for all flags$/],
  [{ args: '--blobPrt 1' }, /^unknown flag --blobPrt; did you mean --blobPort\?$/],
  [{ args: '--blob-port 1' }, /^unknown flag --blob-port; did you mean --blobPort\?$/],
  [{ args: '-x' }, /^unknown flag -x/],
  [{ args: '--__proto__ 1' }, /^unknown flag --__proto__/],
  [{ args: '--blobPort' }, /^--blobPort needs a value: --blobPort PORT$/],
  [{ args: '--location --silent' }, /^--location needs a value/],
  [{ args: '-d' }, /^-d needs a value/],
  [{ args: '--location=' }, /^--location needs a value/],
  [{ args: '--blobPort 65536' }, /^--blobPort must be a port from 0 to 65535 .*, not 65536$/],
  [{ args: '--blobPort 1e3' }, /^--blobPort must be a port/],
  [{ args: '--blobHost a/b' }, /^--blobHost must be an address/],
  [{ args: '--silent=maybe' }, /^--silent must be true or false, not maybe$/],
  [{ args: '--log xml' }, /^--log must be text or json, not xml$/],
  [
    { args: '--journalCount 0' },
    /^--journalCount must be a whole number from 1 to 10000000, not 0$/,
  ],
  [{ args: '--journalCount 1.5' }, /^--journalCount must be a whole number/],
  [
    { args: '--clientBy name,port' },
    /^--clientBy must be a comma-separated list of name, .*, not name,port$/,
  ],
  [{ args: '--controlToken short' }, /^a token must be at least 16 letters/],
  [{ args: '--journal off --journalFile x' }, /^--journalFile needs the journal/],
  [{ args: '--journal off --journalCount 5' }, /^--journalCount and --journalMegabytes cannot be/],
  [{ args: '--oauth full' }, /^--oauth must be basic, not full$/],
  [
    { args: '--encryptionScopes one,-two' },
    /^--encryptionScopes must be a comma-separated list .*, not one,-two$/,
  ],
  [
    { config: { encryptionScopes: ['ab'] } },
    /"encryptionScopes" must be a comma-separated list .*, not ab$/,
  ],
  [
    { args: '--blobKeepAliveTimeout forever' },
    /^--blobKeepAliveTimeout must be a number of seconds/,
  ],
  [{ args: '--verfy' }, /^unknown flag --verfy; did you mean --verify\?$/],
  [{ args: '--logLevel wran' }, /^--logLevel must be .*, not wran; did you mean warn\?$/],
  [{ args: '--services blob,quue' }, /not blob,quue; did you mean queue\?$/],
  [{ args: 'serve' }, /^unknown command serve; expected start, /],
  [{ args: 'bakup /x' }, /^unknown command bakup; did you mean backup\?$/],
  [{ args: 'start now' }, /^unexpected argument now/],
  [{ program: 'azurite', args: 'fsck' }, /^unknown command fsck/],
  [{ env: { LAZULI_BLOB_PORT: 'x' } }, /^LAZULI_BLOB_PORT must be a port .*, not x$/],
  [{ env: { LAZULI_SILENT: 'x' } }, /^LAZULI_SILENT must be true or false, not x$/],
  [{ env: { AZURITE_DB: 'mysql://x' } }, /^AZURITE_DB is set, but/],
  [{ env: { LAZULI_CONFIG: 'none.json' } }, /none\.json does not exist; check LAZULI_CONFIG$/],
  [{ args: '--config none.json' }, /^the config file .*none\.json does not exist; check --config$/],
  [
    { config: { blobPrt: 1 } },
    /lazuli\.json: "blobPrt" is not a setting; did you mean blobPort\?$/,
  ],
  [{ config: { blobPort: 'x' } }, /lazuli\.json: "blobPort" must be a port .*, not x$/],
  [{ config: { blobPort: true } }, /"blobPort" must be a port .*, not true$/],
  [{ config: { silent: 'yes' } }, /"silent" must be true or false, not "yes"$/],
  [{ config: { location: {} } }, /"location" must be a single line of text, not \{\}$/],
  [{ config: [] }, /lazuli\.json must contain a JSON object/],
  [{ config: '{ "accounts": "a:c2VjcmV0" x }' }, /^[^"]*lazuli\.json is not valid JSON: [^"]*$/],
  [{ args: '--inMemoryPersistence -l x' }, /^--inMemoryPersistence writes nothing/],
  [{ env: { LAZULI_IN_MEMORY_PERSISTENCE: '1' }, args: '-l x' }, /^--inMemoryPersistence writes/],
  [{ args: '--store mysql://x' }, /^--store must be the URL of a PostgreSQL database/],
  [{ args: '--store postgres://x -l y' }, /^--store keeps all data .* --location$/],
  [{ args: '--store postgres://x --inMemoryPersistence' }, /^--store keeps all data .* --inMemory/],
  [{ args: '--store postgres://x --https auto' }, /^--https auto .* with --store, use --cert$/],
  [{ args: '--store postgres://x --bytes s3' }, /^--bytes must be postgres or folder:PATH$/],
  [{ args: '--bytes postgres' }, /^--bytes can only be used with --store$/],
  [{ args: '--store postgres://x --nodeHost 0.0.0.0' }, /^--nodeHost must be an address at which/],
  [{ args: '--allowAsyncCommit' }, /^--allowAsyncCommit can only be used with --store$/],
  [
    { args: '--nodePort 1' },
    /^--nodeHost, --nodePort and --nodeName can only be used with --store$/,
  ],
  [{ args: '--services blob,nfs' }, /^--services must be a comma-separated list of blob, queue, /],
  [
    { program: 'azurite-queue', args: '--services blob' },
    /^--services: azurite-queue offers only queue, not blob$/,
  ],
  [{ args: '--portOffset 55001' }, /^--portOffset must be a whole number from 0 to 55000, not/],
  [{ args: '--extentMemoryLimit 5' }, /^--extentMemoryLimit can only be used with --inMemory/],
  [{ args: '--strictApiVersion --skipApiVersionCheck' }, /contradict each other; use only one/],
  [{ args: '--https auto --cert x' }, /cannot be used with --cert$/],
  [
    { args: '--allowedHosts a:1' },
    /^--allowedHosts must be a comma-separated list of host names without a port, .*, not a:1$/,
  ],
  [
    { args: '--allowedHosts http://a' },
    /^--allowedHosts must be a comma-separated list of host names/,
  ],
  [{ args: '--httpsNames x' }, /^--httpsNames can only be used with --https auto$/],
  [{ args: '--allowHttp' }, /^--allowHttp can only be used with --https auto or --cert/],
  [{ args: '--key x' }, /^--key can only be used with --cert$/],
  [{ args: '--pwd x' }, /^--pwd can only be used with --cert$/],
  [{ args: '--oauthIssuer x' }, /^--oauthIssuer can only be used with --oauth basic$/],
  [{ args: '--oauthJwks x' }, /^--oauthJwks can only be used with --oauth basic$/],
  [{ args: '--oauth basic --oauthJwks x' }, /^--oauthJwks needs --oauthIssuer/],
  [
    { args: '--oauthAcceptForgedTokens' },
    /^--oauthAcceptForgedTokens can only be used with --oauth/,
  ],
  [
    { args: '--oauth basic --oauthIssuer x --oauthAcceptForgedTokens' },
    /^--oauthIssuer checks sig/,
  ],
  [{ args: '--oauth basic --blobHost 0.0.0.0' }, /can forge a token; add --oauthIssuer, listen on/],
  [{ args: '--oauth basic --fileHost ::' }, /can forge a token/],
]

for (const [line, message] of REFUSED) {
  test(`refused: ${JSON.stringify(line)}`, () => {
    assert.throws(
      () => decode(line),
      (error) => {
        assert(error instanceof StartError)
        assert.match(error.message, message)
        assert.doesNotMatch(error.message, /\n/)
        assert.equal(error.exitCode, 2)
        return true
      },
    )
  })
}

test('the name of the program determines which services start', () => {
  const services = (program: string, args = ''): string =>
    start({ program, args }).services.join(' ')
  assert.equal(services('lazuli'), 'blob queue table file dfs smb web')
  assert.equal(services('azurite'), 'blob queue table file dfs smb web')
  assert.equal(services('azurite-blob'), 'blob web')
  assert.equal(services('lazuli', '--services table,Blob'), 'blob table')
  assert.equal(services('azurite-blob', '--services blob'), 'blob')
  assert.equal(services('azurite-table'), 'table')
  assert.equal(programOf('/x/azurite.js'), 'azurite')
  assert.equal(programOf('/x/src/main.js'), 'lazuli')
})

test('`given` records the source of each value', () => {
  const { given } = start({
    args: '--blobPort 1',
    env: { LAZULI_BLOB_PORT: '2', LAZULI_ADMIN_PORT: '3' },
    config: { silent: true },
  })
  assert.deepEqual(Object.fromEntries(given), {
    silent: 'file',
    adminPort: 'env',
    blobPort: 'flag',
  })
})

test('health and fsck take the same settings', () => {
  assert.partialDeepStrictEqual(decode({ args: 'health --adminPort 9' }), {
    kind: 'health',
    options: { adminPort: 9 },
  })
  assert.partialDeepStrictEqual(decode({ args: 'fsck --location /x' }), {
    kind: 'fsck',
    options: { location: '/x' },
  })
})

test('--version prints only the version', () => {
  assert.deepEqual(decode({ args: '-v' }), { kind: 'print', text: '1.2.3' })
})

test('--help, help and both with a command', () => {
  const about = (args: string) => {
    const command = decode({ args })
    assert(command.kind === 'help')
    return command.command
  }
  assert.deepEqual(['--help', 'help', '-h'].map(about), [undefined, undefined, undefined])
  assert.deepEqual(['backup --help', 'help backup'].map(about), ['backup', 'backup'])
  assert.throws(() => decode({ args: 'help bakup' }), /^StartError: unknown command bakup; did you/)
})

test('unknown variables are reported, and those of Kubernetes are not', () => {
  const known = { LAZULI_ACCOUNTS: 'a', LAZULI_BLOB_PORT: '1', LAZULI_CONFIG: 'x', OTHER: 'y' }
  assert.deepEqual(unknownVariables(known), [])
  assert.deepEqual(unknownVariables({ LAZULI_LOCATON: 'x', LAZULI_TZ: 'y' }), [
    'the environment variable LAZULI_LOCATON is not a setting; did you mean LAZULI_LOCATION?',
    'the environment variable LAZULI_TZ is not a setting; see --help for all settings',
  ])
  const links = {
    LAZULI_PORT: 'tcp://10.0.0.11:10000',
    LAZULI_SERVICE_HOST: '10.0.0.11',
    LAZULI_SERVICE_PORT_BLOB: '10000',
    LAZULI_BLOB_PORT_10000_TCP_ADDR: '10.0.0.11',
  }
  assert.deepEqual(unknownVariables(links), [])
})

test('each setting has an environment variable of its own', () => {
  assert.equal(envName('blobKeepAliveTimeout'), 'LAZULI_BLOB_KEEP_ALIVE_TIMEOUT')
  assert.equal(new Set(SETTING_NAMES.map(envName)).size, SETTING_NAMES.length)
})

test('--extentMemoryLimit is in MB and defaults to half of the memory', () => {
  const limit = (args: string): number => extentMemoryLimitBytes(start({ args }).options, 1001)
  assert.equal(limit(''), 500)
  assert.equal(limit('--inMemoryPersistence --extentMemoryLimit 1.5'), 1_572_864)
})
