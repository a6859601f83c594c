// File shares with smbclient: every dialect, signing algorithm and cipher. Files are read as they were written, and
// REST sees the changes.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { ShareServiceClient, type ShareClient } from '@azure/storage-file-share'
import { ACCOUNT, ACCOUNT_KEY, startTestServer, type TestServer } from '../harness.ts'
import { cleanUp, tempFolder } from '../server-process.ts'
import { CLIENT_LIMIT_MS, clientOf, missingReason, type Client } from './program.ts'

const skip = missingReason('smbclient', ['smbclient', '--version']) ?? false

/** The description, and the arguments of smbclient. */
const MODES: readonly (readonly [string, ...string[]])[] = [
  ['2.1, unsigned', '-m', 'SMB2_10', '--client-protection=off'],
  ['2.1, signed', '-m', 'SMB2_10', '--client-protection=sign'],
  ['3.0, signed', '-m', 'SMB3_00', '--client-protection=sign'],
  ['3.0, sealed', '-m', 'SMB3_00', '--client-protection=encrypt'],
  ['3.1.1, unsigned', '-m', 'SMB3_11', '--client-protection=off'],
  ...['aes-128-gmac', 'aes-128-cmac', 'hmac-sha256'].map(
    (algorithm) =>
      [`3.1.1, signed with ${algorithm}`, '-m', 'SMB3_11', '--client-protection=sign',
        `--option=clientsmb3signingalgorithms=${algorithm}`] as const, // prettier-ignore
  ),
  ...['aes-128-gcm', 'aes-128-ccm', 'aes-256-gcm', 'aes-256-ccm'].map(
    (cipher) =>
      [`3.1.1, encrypted with ${cipher}`, '-m', 'SMB3_11', '--client-protection=encrypt',
        `--option=clientsmb3encryptionalgorithms=${cipher}`] as const, // prettier-ignore
  ),
]

describe('smbclient', { skip, timeout: CLIENT_LIMIT_MS }, () => {
  let server: TestServer
  let share: ShareClient
  let client: Client
  let folder: string
  const bytes = randomBytes(3_000_001)

  before(async () => {
    server = await startTestServer()
    const service = ShareServiceClient.fromConnectionString(server.connectionString)
    share = service.getShareClient('docs')
    await share.create()
    client = clientOf(['smbclient'], {})
    folder = tempFolder('smbclient')
    writeFileSync(join(folder, 'big.bin'), bytes)
  })

  after(async () => {
    await cleanUp()
    await server.close()
  })

  const login = (key = ACCOUNT_KEY): string[] => [
    `--port=${server.smbPort}`,
    `--user=${ACCOUNT}%${key}`,
  ]
  const run = (args: readonly string[], commands: string): Promise<string> =>
    client.ok('//127.0.0.1/docs', ...login(), ...args, '-c', `lcd ${folder}; ${commands}`)

  for (const [what, ...args] of MODES) {
    test(what, async () => {
      await run(args, 'mkdir a; put big.bin a/big.bin; get a/big.bin got.bin')
      assert(readFileSync(join(folder, 'got.bin')).equals(bytes))
      const file = share.rootDirectoryClient.getDirectoryClient('a').getFileClient('big.bin')
      assert(bytes.equals(await file.downloadToBuffer()))
      assert.match(await run(args, 'ls a/*'), /big\.bin +A +3000001 /)
      await run(args, 'rename a/big.bin a/Other.bin')
      assert.match(await run(args, 'allinfo a/other.BIN'), /stream: \[::\$DATA\], 3000001 bytes/)
      await run(args, 'del a/other.bin; rmdir a')
      assert.doesNotMatch(await run(args, 'ls'), / a +D /)
    })
  }

  test('-L lists the shares of the account', async () => {
    assert.match(await client.ok('-L', '127.0.0.1', ...login()), /docs +Disk[\s\S]*IPC\$ +IPC/)
  })

  test('a wrong key and an anonymous login are refused', async () => {
    const { fails } = client
    const wrong = Buffer.alloc(64).toString('base64')
    for (const args of [login(wrong), ['-p', String(server.smbPort), '-N']]) {
      await fails('//127.0.0.1/docs', ...args, '-c', 'ls').then((output) =>
        assert.equal(output, ''),
      )
    }
  })

  test('a missing share is refused', async () => {
    await client.fails('//127.0.0.1/none', ...login(), '-c', 'ls')
  })

  test('names can have any script and are not case-sensitive', async () => {
    await run([], 'mkdir größe; put big.bin "größe/日本語 😀.bin"; ls größe/*')
    const found = []
    for await (const item of share
      .getDirectoryClient('GRÖSSE'.replace('SS', 'ß'))
      .listFilesAndDirectories()) {
      found.push(item.name)
    }
    assert.deepEqual(found, ['日本語 😀.bin'])
  })
})
