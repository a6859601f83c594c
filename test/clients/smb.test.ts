// File shares with libsmbclient and impacket, which are called from Python, and with rclone.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ShareServiceClient } from '@azure/storage-file-share'
import { ACCOUNT, ACCOUNT_KEY, startTestServer, type TestServer } from '../harness.ts'
import { cleanUp, tempFolder } from '../server-process.ts'
import { CLIENT_LIMIT_MS, clientOf, missingReason } from './program.ts'
import { PYTHON, pythonResults } from './python-suite.ts'

let server: TestServer

before(async () => {
  server = await startTestServer()
  await ShareServiceClient.fromConnectionString(server.connectionString).createShare('disk')
})

after(async () => {
  await cleanUp()
  await server.close()
})

const noPython = missingReason('python3-smbc or python3-impacket', [
  PYTHON,
  '-c',
  'import smbc, impacket',
])

test(
  'libsmbclient and impacket',
  { skip: noPython ?? false, timeout: CLIENT_LIMIT_MS },
  async (t) => {
    const script = fileURLToPath(new URL('smb.py', import.meta.url))
    const results = await pythonResults(
      script,
      String(server.smbPort),
      ACCOUNT,
      ACCOUNT_KEY,
      'disk',
    )
    for (const { name, failure } of results) {
      await t.test(name, () => assert.equal(failure, null, failure ?? ''))
    }
  },
)

const noRclone = missingReason('rclone', ['rclone', 'version'])

describe('rclone', { skip: noRclone ?? false, timeout: CLIENT_LIMIT_MS }, () => {
  test('uploads, downloads, lists, moves and deletes a folder', async () => {
    const obscured = await clientOf(['rclone'], {}).ok('obscure', ACCOUNT_KEY)
    const rclone = clientOf(['rclone'], {
      RCLONE_CONFIG: '',
      RCLONE_RETRIES: '1',
      RCLONE_LOW_LEVEL_RETRIES: '1',
      RCLONE_SMB_HOST: '127.0.0.1',
      RCLONE_SMB_PORT: String(server.smbPort),
      RCLONE_SMB_USER: ACCOUNT,
      RCLONE_SMB_PASS: obscured.trim(),
    })
    const folder = tempFolder('rclone-smb')
    writeFileSync(join(folder, 'a.bin'), randomBytes(5_000_003))
    writeFileSync(join(folder, 'größe 日本語.txt'), 'text')
    assert.match(await rclone.ok('lsd', ':smb:'), / disk\n/)
    await rclone.ok('copy', folder, ':smb:disk/sub')
    await rclone.ok('check', '--download', folder, ':smb:disk/sub')
    await rclone.ok('moveto', ':smb:disk/sub/a.bin', ':smb:disk/sub/b.bin')
    assert.equal(await rclone.ok('lsf', ':smb:disk/sub'), 'b.bin\ngröße 日本語.txt\n')
    await rclone.ok('purge', ':smb:disk/sub')
    assert.equal(await rclone.ok('lsf', ':smb:disk'), '')
  })
})
