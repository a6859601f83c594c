// The command before it runs: invalid settings are refused in one line and leave no trace; sources of settings and
// accounts; and the files that it writes.
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { openFormat } from '../src/node/format.ts'
import { openLmdbEngine } from '../src/kv/engine/lmdb.ts'
import { openKv } from '../src/kv/runner/runner.ts'
import { MIGRATIONS } from '../src/storage/migrations.ts'
import { decodeCommand } from '../src/start/options/command.ts'
import { envName, SETTING_NAMES, SETTINGS, type SettingName } from '../src/start/options/options.ts'
import { ACCOUNT_KEY, rawRequest } from './harness.ts'
import {
  accountSas,
  cleanUp,
  createContainer,
  MAIN,
  putBlob,
  run,
  startServerProcess,
  stop,
  tempFolder,
  type Account,
  type Launch,
  type ServerProcess,
} from './server-process.ts'

after(cleanUp)

const OWN: Account = { name: 'own', key: Buffer.alloc(32, 7).toString('base64') }
const NEW: Account = { name: 'own', key: Buffer.alloc(32, 8).toString('base64') }

function tree(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted()
}

async function statusAs(server: ServerProcess, account: Account): Promise<number> {
  const path = `/${account.name}/?comp=list`
  const sign = accountSas(account)
  const { status } = await rawRequest(server, { method: 'GET', path, wholePath: true, sign })
  return status
}

describe('the command refuses', () => {
  const taken = createServer()
  let takenPort: string
  let owner: ServerProcess
  let owned: string

  before(async () => {
    owned = tempFolder('owned')
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    takenPort = String((taken.address() as AddressInfo).port)
    owner = await startServerProcess({ args: ['--location', owned] })
  })
  after(() => taken.close())

  type Refusal = {
    readonly exitCode: 1 | 2
    readonly says: RegExp
    readonly args?: () => readonly string[]
    readonly env?: Readonly<Record<string, string>>
    /** Prepares the folder that the command runs in. */
    readonly prepare?: (cwd: string) => void | Promise<void>
  }

  const inPlace = (cwd: string): void => writeFileSync(join(cwd, 'file'), '')
  const config = (text: string) => (cwd: string) => writeFileSync(join(cwd, 'lazuli.json'), text)
  const newer = async (cwd: string): Promise<void> => {
    const kv = openKv(openLmdbEngine(join(cwd, 'data', 'store')))
    await openFormat(kv, [...MIGRATIONS, async () => {}])
    await kv.close()
  }

  // prettier-ignore
  const REFUSALS: Readonly<Record<string, Refusal>> = {
    'an unknown flag': { exitCode: 2, args: () => ['--blob-port', '1'],
      says: /unknown flag --blob-port; did you mean --blobPort\?/ },
    'an unknown command': { exitCode: 2, args: () => ['serve'], says: /unknown command serve/ },
    'a bad value': { exitCode: 2, args: () => ['--blobPort', '70000'],
      says: /--blobPort must be a port from 0 to 65535 .*, not 70000/ },
    'a bad value in the environment': { exitCode: 2, env: { LAZULI_LOG_LEVEL: 'loud' },
      says: /LAZULI_LOG_LEVEL must be error, warn, info or debug, not loud/ },
    'a config file that is not JSON': { exitCode: 2, prepare: config('{'), says: /lazuli\.json is not valid JSON/ },
    'an unknown setting': { exitCode: 2, prepare: config('{ "port": 1 }'),
      says: /lazuli\.json: "port" is not a setting/ },
    'a key that decodes to nothing': { exitCode: 2, env: { LAZULI_ACCOUNTS: 'me:!!!' },
      says: /LAZULI_ACCOUNTS: key 1 of account "me" is not base64$/m },
    'an accounts file that does not exist': { exitCode: 2, args: () => ['--accountsFile', 'none'],
      says: /cannot read the accounts file none: no such file/ },
    'an invalid line in the SMB users file': { exitCode: 2, args: () => ['--smbUsersFile', 'file'],
      prepare: (cwd) => writeFileSync(join(cwd, 'file'), '# ours\nada:devstoreaccount1\n'),
      says: /file, line 2: expected user:account:password or user:account:nt:hash/ },
    'a port in use': { exitCode: 1, args: () => ['--blobPort', takenPort],
      says: /cannot listen on 127\.0\.0\.1:\d+: the port is already in use; choose another with --blobPort/ },
    'an admin port in use': { exitCode: 1, args: () => ['--adminPort', takenPort],
      says: /the admin port cannot listen on .*: the port is already in use; choose another with --adminPort/ },
    'an invalid certificate': { exitCode: 1, args: () => ['--cert', 'file'], prepare: inPlace,
      says: /cannot use --cert file: / },
    'the address of another machine': { exitCode: 1, args: () => ['--blobHost', '192.0.2.1'],
      says: /cannot listen on 192\.0\.2\.1:0: this machine does not have that address/ },
    'a file as the data folder': { exitCode: 1, args: () => ['--location', 'file'], prepare: inPlace,
      says: /cannot write to the data folder .*file: a file with that name already exists; .*--location/ },
    'a data folder below a file': { exitCode: 1, args: () => ['--location', 'file/data'], prepare: inPlace,
      says: /cannot write to the data folder .*: a part of the path is not a folder/ },
    'a debug log below a file': { exitCode: 1, args: () => ['--debug', 'file/log'], prepare: inPlace,
      says: /cannot write the debug log file\/log/ },
    'a journal file below a file': { exitCode: 1, args: () => ['--journalFile', 'file/log'], prepare: inPlace,
      says: /cannot write the journal file file\/log: .*; choose another path with --journalFile/ },
    'a folder that another server uses': { exitCode: 1, args: () => ['--location', owned],
      says: /is in use by another Lazuli server \(process \d+\)/ },
    'data of a newer Lazuli': { exitCode: 1, args: () => ['--location', 'data'], prepare: newer,
      says: /the data has format 6, but this version of Lazuli reads up to format 5/ },
    'fsck of a folder that does not exist': { exitCode: 2, args: () => ['fsck', '--location', 'none'],
      says: /cannot read the data folder .*none: no such file or folder/ },
    'fsck of a folder that a server uses': { exitCode: 2, args: () => ['fsck', '--location', owned],
      says: /is in use by another Lazuli server/ },
  }

  describe('and leaves nothing behind', { concurrency: 3 }, () => {
    for (const [what, refusal] of Object.entries(REFUSALS)) test(what, () => checkRefusal(refusal))
  })

  async function checkRefusal({ exitCode, says, args, env, prepare }: Refusal): Promise<void> {
    const cwd = tempFolder('refused')
    await prepare?.(cwd)
    const before = tree(cwd)
    const ports = { LAZULI_BLOB_PORT: '0', LAZULI_ADMIN_PORT: '0' }
    const ended = await run({ args: args?.() ?? [], cwd, env: { ...ports, ...env } })
    assert.match(ended.stderr, says)
    assert.match(ended.stderr, /^lazuli: [^\n]+\n$/, 'one line')
    assert.deepEqual([ended.code, ended.stdout], [exitCode, ''])
    assert.deepEqual(tree(cwd), before)
  }

  test(
    'a folder without write permission',
    { skip: !readdirSync('/').includes('proc') },
    async () => {
      const ended = await run({ args: ['--blobPort', '0', '--location', '/proc/lazuli'] })
      assert.match(
        ended.stderr,
        /^lazuli: cannot write to the data folder \/proc\/lazuli: [^\n]+\n$/,
      )
      assert.equal(ended.code, 1)
    },
  )

  test('a folder in use without disturbing its server', async () => {
    assert.equal((await createContainer(owner, 'still-here')).status, 201)
    const strange = tree(owned).filter(
      (name) => !/^(\.gitignore|extents|server\.json|store.*)$/.test(name),
    )
    assert.equal(strange.length, 1, 'only its own socket')
  })
})

describe('settings', { concurrency: 2 }, () => {
  /** For each setting a value other than its default; a new setting needs a row. */
  const EXAMPLES: Readonly<Record<SettingName, string>> = {
    services: 'blob,web', host: '0.0.0.0', portOffset: '100',
    blobHost: '0.0.0.0', blobPort: '1', blobKeepAliveTimeout: '7', webHost: '0.0.0.0', webPort: '8',
    queueHost: '0.0.0.0', queuePort: '2', queueKeepAliveTimeout: '7',
    tableHost: '0.0.0.0', tablePort: '3', tableKeepAliveTimeout: '7',
    fileHost: '0.0.0.0', filePort: '4', fileKeepAliveTimeout: '7',
    dfsHost: '0.0.0.0', dfsPort: '10', dfsKeepAliveTimeout: '7',
    smbHost: '0.0.0.0', smbPort: '5', smbEncryption: 'required', smbSigning: 'required', adminHost: '0.0.0.0', adminPort: '6',
    nodeHost: '127.0.0.2', nodePort: '9', nodeName: 'n1', store: 'postgres://db.test/x', bytes: 'folder:/x', allowAsyncCommit: 'true',
    location: 'data', inMemoryPersistence: 'true', extentMemoryLimit: '100',
    encryptionScopes: 'scope-1,scope-2', nameReuseSeconds: '30', containers: 'a-1,$web', queues: 'q-1', tables: 'Table1', shares: 's-1', cors: '*', clock: 'held', seed: 'seed',
    https: 'auto', allowHttp: 'true', httpsNames: 'storage.test', cert: 'cert.pem', key: 'key.pem', pwd: 'secret',
    accountsFile: 'accounts', smbUsersFile: 'users', oauth: 'basic', oauthIssuer: 'https://issuer.test/', oauthJwks: 'jwks.json',
    oauthAcceptForgedTokens: 'true',
    allowedHosts: 'storage.test', allowCopyFrom: 'https://*.example.com',
    strictApiVersion: 'true', skipApiVersionCheck: 'true', loose: 'true',
    disableProductStyleUrl: 'true', disableTelemetry: 'true',
    silent: 'true', log: 'json', journal: 'off', logLevel: 'warn', debug: 'debug.log',
    journalCount: '100', journalMegabytes: '1', journalFile: 'journal.log', clientBy: 'userAgent,connection',
    control: 'true', controlToken: 'a-token-of-a-test',
  } // prettier-ignore

  /** Other settings that a setting requires. */
  const COMPANIONS: Partial<Record<SettingName, readonly SettingName[]>> = {
    extentMemoryLimit: ['inMemoryPersistence'],
    bytes: ['store'],
    allowAsyncCommit: ['store'],
    nodeHost: ['store'],
    nodePort: ['store'],
    nodeName: ['store'],
    httpsNames: ['https'],
    allowHttp: ['https'],
    key: ['cert'],
    pwd: ['cert'],
    oauthIssuer: ['oauth'],
    oauthJwks: ['oauth', 'oauthIssuer'],
    oauthAcceptForgedTokens: ['oauth'],
  }

  for (const name of SETTING_NAMES) {
    test(`--${name}, ${envName(name)} and "${name}" mean the same`, () => {
      const names = [name, ...(COMPANIONS[name] ?? [])]
      const cwd = tempFolder('settings')
      const decode = (args: readonly string[], env: Readonly<Record<string, string>>) => {
        const command = decodeCommand({ argv: ['node', 'lazuli', ...args], env, cwd, version: '1' })
        assert(command.kind === 'start')
        return command.options
      }
      const flags = names.map((each) => `--${each}=${EXAMPLES[each]}`)
      const byFlag = decode(flags, {})
      assert.notDeepEqual(byFlag[name], SETTINGS[name].default)
      const env = Object.fromEntries(names.map((each) => [envName(each), EXAMPLES[each]]))
      assert.deepEqual(decode([], env), byFlag)
      const isSwitch = (each: SettingName) => SETTINGS[each].placeholder === undefined
      const file = Object.fromEntries(
        names.map((each) => [each, isSwitch(each) ? true : EXAMPLES[each]]),
      )
      writeFileSync(join(cwd, 'lazuli.json'), JSON.stringify(file))
      assert.deepEqual(decode([], {}), byFlag)
    })
  }

  const SOURCES: Readonly<Record<string, (cwd: string) => Partial<Launch>>> = {
    'the environment': () => ({
      env: { LAZULI_LOCATION: 'here', LAZULI_DEBUG: 'all.log', LAZULI_SILENT: 'true' },
    }),
    'lazuli.json': (cwd) => {
      const settings = { location: 'here', debug: 'all.log', silent: true }
      writeFileSync(join(cwd, 'lazuli.json'), JSON.stringify(settings))
      return {}
    },
  }
  for (const [what, prepare] of Object.entries(SOURCES)) {
    test(`a server configured by ${what}`, async () => {
      const cwd = tempFolder('set')
      const server = await startServerProcess({ args: [], cwd, ...prepare(cwd) })
      assert.equal((await createContainer(server, 'set')).status, 201)
      assert.equal((await stop(server)).code, 0)
      assert(readdirSync(join(cwd, 'here')).includes('store'))
      assert.match(readFileSync(join(cwd, 'all.log'), 'utf8'), /"PUT \/devstoreaccount1\/set\?/)
      assert.doesNotMatch(server.stdout(), /PUT/)
    })
  }
})

describe('accounts', { concurrency: 2 }, () => {
  for (const name of ['LAZULI_ACCOUNTS', 'AZURITE_ACCOUNTS']) {
    test(`${name} replaces the well-known account`, async () => {
      const env = { [name]: `${OWN.name}:${OWN.key}` }
      const args = ['--inMemoryPersistence', '--blobHost', '0.0.0.0']
      const server = await startServerProcess({ args, env })
      assert.equal(await statusAs(server, OWN), 200)
      assert.equal(await statusAs(server, NEW), 403)
      assert.notEqual(await statusAs(server, { name: 'devstoreaccount1', key: ACCOUNT_KEY }), 200)
      assert.match(server.stdout(), /Accounts +own\n/)
      assert.doesNotMatch(server.stdout(), /warn: /)
      assert(!server.stdout().includes(OWN.key), "a user's key is not printed")
    })
  }

  test('a changed accounts file takes effect while the server runs', async () => {
    const cwd = tempFolder('accounts')
    const file = join(cwd, 'accounts')
    writeFileSync(file, `${OWN.name}:${OWN.key}\n`)
    const args = ['--inMemoryPersistence', '--accountsFile', file]
    // A request rereads the file if a second has passed since the last time. With this clock every request does.
    const clock = 'let ms = Date.now(); Date.now = () => (ms += 1_000)'
    const preload = ['--import', `data:text/javascript,${encodeURIComponent(clock)}`]
    const program = [process.execPath, ...preload, MAIN] as const
    const server = await startServerProcess({ program, args, cwd })
    assert.equal(await statusAs(server, OWN), 200)
    assert.equal(await statusAs(server, NEW), 403)
    writeFileSync(file, `# rotated\n${NEW.name}:${NEW.key}\n`)
    assert.deepEqual([await statusAs(server, NEW), await statusAs(server, OWN)], [200, 403])
    await server.printed(/accounts reloaded from .*accounts: own/)
    writeFileSync(file, 'own:!\n')
    assert.equal(await statusAs(server, NEW), 200, 'an invalid file changes nothing')
    await server.printed(/warn: accounts not reloaded/)
  })

  test('with keys of its own, a server asks its admin port for a token, which its folder has', async () => {
    const cwd = tempFolder('guarded')
    const env = { LAZULI_ACCOUNTS: `${OWN.name}:${OWN.key}` }
    const server = await startServerProcess({ args: ['--location', cwd], cwd, env })
    const journal = `${server.adminUrl}/api/journal`
    assert.equal((await fetch(journal)).status, 401)
    const [, token = ''] = await server.printed(/made a token for the journal and control: (\S+)/)
    const headers = { Authorization: `Bearer ${token}` }
    assert.equal((await fetch(journal, { headers })).status, 200)
    const inFolder = await run({ args: ['leases', '--json', '--location', cwd], cwd })
    assert.equal(inFolder.code, 0, inFolder.stderr)
    const elsewhere = await run({ args: ['leases', '--adminUrl', server.adminUrl], cwd })
    assert.equal(elsewhere.code, 1)
    assert.match(elsewhere.stderr, /--controlToken or LAZULI_CONTROL_TOKEN/)
  })

  test('a changed accounts file is reported even if there are no requests', async () => {
    const file = join(tempFolder('accounts'), 'accounts')
    writeFileSync(file, `${OWN.name}:${OWN.key}\n`)
    const args = ['--inMemoryPersistence', '--accountsFile', file]
    const server = await startServerProcess({ args })
    writeFileSync(file, 'own:!\n')
    await server.printed(/warn: accounts not reloaded: .*accounts/)
  })

  test('a warning is logged if the well-known key is used on an open address', async () => {
    const args = ['--inMemoryPersistence', '--blobHost', '0.0.0.0']
    const server = await startServerProcess({ args })
    assert.match(
      server.stdout(),
      /warn: listening on 0\.0\.0\.0 with the well-known key of devstoreaccount1, .*LAZULI_ACCOUNTS/,
    )
    assert.match(server.stdout(), /BlobEndpoint=http:\/\/127\.0\.0\.1:\d+\/devstoreaccount1;/)
  })
})

describe('the server writes', { concurrency: 2 }, () => {
  test('./.lazuli with a .gitignore, and nothing else', async () => {
    const cwd = tempFolder('litter')
    const server = await startServerProcess({ args: ['--silent'], cwd })
    assert.equal((await createContainer(server, 'litter')).status, 201)
    assert.equal((await putBlob(server, '/litter/large', Buffer.alloc(100_000))).status, 201)
    assert.equal((await stop(server)).code, 0)
    assert.deepEqual(tree(cwd), [
      '.lazuli',
      '.lazuli/.gitignore',
      '.lazuli/extents',
      '.lazuli/extents/00000000000001.extent',
      '.lazuli/store',
      '.lazuli/store/data.mdb',
      '.lazuli/store/lock.mdb',
    ])
    assert.equal(readFileSync(join(cwd, '.lazuli/.gitignore'), 'utf8'), '*\n')
  })

  test('nothing with --inMemoryPersistence', async () => {
    const home = tempFolder('home')
    const cwd = join(home, 'work')
    mkdirSync(cwd)
    const env = { HOME: home, TMPDIR: home, XDG_CACHE_HOME: home }
    const server = await startServerProcess({ args: ['--inMemoryPersistence'], cwd, env })
    assert.match(server.stdout(), /Location +in memory, lost when the server stops/)
    assert.equal((await createContainer(server, 'memory')).status, 201)
    assert.equal((await putBlob(server, '/memory/large', Buffer.alloc(3_000_000))).status, 201)
    assert.equal((await stop(server)).code, 0)
    assert.deepEqual(tree(home), ['work'])
  })
})
