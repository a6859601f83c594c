// The Blob service as a remote for rclone: copying, listing, moving and downloading. With a folder of difficult names
// and a file that is uploaded in blocks.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { BlobServiceClient, ContainerSASPermissions } from '@azure/storage-blob'
import { startTestServer, type TestServer } from '../harness.ts'
import { cleanUp, tempFolder } from '../server-process.ts'
import { CLIENT_LIMIT_MS, clientOf, missingReason, type Client } from './program.ts'

const KIB = 1024
/** Different 4 KiB pieces and an unaligned end: three blocks of 4 MiB, the smallest that rclone uses. */
const BIG = Buffer.alloc(9 * 1024 * KIB + 7)
for (let at = 0; at < BIG.length; at += 4 * KIB) BIG.write(`piece at ${at}`, at)

const FILES: Readonly<Record<string, Buffer>> = {
  'big.bin': BIG,
  'empty.txt': Buffer.alloc(0),
  'sub/a+b %41 & c#d?.txt': Buffer.from('awkward'),
  'sub/deep/größe.html': Buffer.from('<p>'),
  'sub/deep/日本語.json': Buffer.from('{}'),
}
const NAMES = Object.keys(FILES).sort()

/** Without the user's settings and without retries. */
const ALONE = { RCLONE_CONFIG: '', RCLONE_RETRIES: '1', RCLONE_LOW_LEVEL_RETRIES: '1' }

/** An unnamed backend, whose settings are in the environment. */
const remote = (path: string): string => `:azureblob:${path}`
const skip = missingReason('rclone', ['rclone', 'version']) ?? false

describe('rclone', { skip, timeout: CLIENT_LIMIT_MS }, () => {
  let server: TestServer
  let service: BlobServiceClient
  let settings: Readonly<Record<string, string>>
  let rclone: Client
  let folder: string

  before(async () => {
    server = await startTestServer()
    service = BlobServiceClient.fromConnectionString(server.connectionString)
    settings = {
      ...ALONE,
      RCLONE_AZUREBLOB_USE_EMULATOR: 'true',
      RCLONE_AZUREBLOB_ENDPOINT: server.blobEndpoint,
    }
    rclone = clientOf(['rclone'], settings)
    folder = tempFolder('rclone')
    for (const [name, bytes] of Object.entries(FILES)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), bytes)
    }
    await rclone.ok('mkdir', remote('disk'))
    await rclone.ok('copy', folder, remote('disk/all'), '--azureblob-chunk-size', '4M')
  })

  after(async () => {
    await cleanUp()
    await server.close()
  })

  test('copy uploads sizes, MD5s, times and content types', async () => {
    await rclone.ok('check', folder, remote('disk/all'))
    await rclone.ok('check', '--download', folder, remote('disk/all'))
    // Nothing is left to copy: the times are stored in metadata, to the nanosecond.
    assert.equal(await rclone.ok('copy', '--dry-run', '-q', folder, remote('disk/all')), '')
    const blob = service.getContainerClient('disk').getBlobClient('all/sub/deep/größe.html')
    const { contentType, metadata } = await blob.getProperties()
    assert.equal(contentType, 'text/html; charset=utf-8')
    assert.match(metadata?.mtime ?? '', /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  })

  test('copy uploads a big file in blocks', async () => {
    const blob = service.getContainerClient('disk').getBlockBlobClient('all/big.bin')
    const { committedBlocks } = await blob.getBlockList('committed')
    assert.deepEqual(
      committedBlocks?.map(({ size }) => size),
      [4096 * KIB, 4096 * KIB, BIG.length - 8192 * KIB],
    )
  })

  test('copy downloads every byte', async () => {
    const back = tempFolder('rclone-back')
    const threads = ['--multi-thread-cutoff', '1M', '--multi-thread-streams', '3']
    await rclone.ok('copy', remote('disk/all'), back, ...threads)
    for (const name of NAMES) assert.deepEqual(readFileSync(join(back, name)), FILES[name], name)
  })

  test('cat reads a range', async () => {
    const part = ['--offset', '4094', '--count', '12']
    const output = await rclone.ok('cat', ...part, remote('disk/all/big.bin'))
    assert.equal(output, BIG.toString('latin1', 4094, 4106))
  })

  test('hashsum knows the MD5 of every file', async () => {
    const output = await rclone.ok('hashsum', 'MD5', remote('disk/all'))
    const lines = NAMES.map((name) => {
      const md5 = createHash('md5').update(FILES[name] ?? '')
      return `${md5.digest('hex')}  ${name}`
    })
    assert.deepEqual(output.trimEnd().split('\n').sort(), lines.sort())
  })

  for (const [what, path, flags, expected] of [
    ['one level', 'all', [], ['big.bin', 'empty.txt', 'sub/']],
    ['one level below', 'all/sub', [], ['a+b %41 & c#d?.txt', 'deep/']],
    ['all in one list', 'all', ['-R', '--files-only', '--fast-list'], NAMES],
    ['in pages of two', 'all', ['-R', '--files-only', '--azureblob-list-chunk', '2'], NAMES],
  ] as const) {
    test(`lsf lists ${what}`, async () => {
      const output = await rclone.ok('lsf', remote(`disk/${path}`), ...flags)
      assert.deepEqual(output.trimEnd().split('\n').sort(), expected)
    })
  }

  test('lsd lists containers', async () => {
    assert.match(await rclone.ok('lsd', remote('')), / disk\n/)
  })

  test('rcat uploads a stream of unknown length', async () => {
    const piped = clientOf(['sh', '-c', 'exec rclone rcat "$1" <"$0"'], settings)
    await piped.ok(join(folder, 'big.bin'), remote('disk/piped/big.bin'))
    const only = ['--include', '/big.bin']
    await rclone.ok('check', '--download', remote('disk/piped'), folder, ...only)
  })

  test('copyto and moveto run on the server', async () => {
    await rclone.ok('mkdir', remote('other'))
    await rclone.ok('copyto', remote('disk/all/big.bin'), remote('other/copy of big.bin'))
    await rclone.ok('moveto', remote('other/copy of big.bin'), remote('other/moved/big.bin'))
    assert.equal(await rclone.ok('lsf', '-R', '--files-only', remote('other')), 'moved/big.bin\n')
    await rclone.ok('check', '--download', remote('other/moved'), folder, '--include', '/big.bin')
    const blob = service.getContainerClient('other').getBlobClient('moved/big.bin')
    assert.equal((await blob.getProperties()).copyStatus, 'success')
    await rclone.ok('purge', remote('other'))
    assert.equal(await service.getContainerClient('other').exists(), false)
  })

  test('sync deletes removed files and uploads new ones', async () => {
    const here = tempFolder('rclone-sync')
    for (const name of ['kept', 'changed', 'gone']) writeFileSync(join(here, name), name)
    await rclone.ok('sync', here, remote('disk/synced'))
    const next = tempFolder('rclone-next')
    for (const [name, text] of [
      ['kept', 'kept'],
      ['changed', 'longer than it was'],
      ['new', ''],
    ] as const) {
      writeFileSync(join(next, name), text)
    }
    await rclone.ok('sync', next, remote('disk/synced'))
    await rclone.ok('check', '--download', next, remote('disk/synced'))
  })

  test('touch sets the time, and settier sets the tier', async () => {
    const path = remote('disk/touched')
    await rclone.ok('copyto', join(folder, 'empty.txt'), path)
    await rclone.ok('touch', '--timestamp', '2020-02-02T02:02:02', path)
    assert.match(await rclone.ok('lsl', path), / 2020-02-02 02:02:02\.0+ touched\n/)
    await rclone.ok('settier', 'Cool', path)
    assert.match(await rclone.ok('lsf', '--format', 'pT', path), /^touched;Cool\n/)
  })

  test('a container is accessed with a SAS', async () => {
    const container = service.getContainerClient('disk')
    const url = await container.generateSasUrl({
      permissions: ContainerSASPermissions.parse('rl'),
      expiresOn: new Date(server.now() + 3_600_000),
    })
    const guest = clientOf(['rclone'], { ...ALONE, RCLONE_AZUREBLOB_SAS_URL: url })
    assert.equal(await guest.ok('cat', remote('disk/all/sub/deep/日本語.json')), '{}')
    const output = await guest.fails('deletefile', remote('disk/all/empty.txt'))
    assert.match(output, /AuthorizationPermissionMismatch/)
  })

  test('deletefile, delete and rmdir remove files and containers', async () => {
    await rclone.ok('copy', join(folder, 'sub'), remote('bin'))
    await rclone.ok('deletefile', remote('bin/deep/日本語.json'))
    await rclone.fails('rmdir', remote('bin'))
    await rclone.ok('delete', remote('bin'))
    await rclone.ok('rmdir', remote('bin'))
    assert.equal(await service.getContainerClient('bin').exists(), false)
  })
})
