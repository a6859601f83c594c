// The source of a copy is read like Get File: the copy is refused or waits if an SMB client does not share the file,
// has locked it, has marked it for deletion or caches writes.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob'
import { FileSASPermissions, type ShareFileClient } from '@azure/storage-file-share'
import { newFile } from '../file/file-operations.ts'
import { outcomeOf } from '../file/smb-client.ts'
import { ACCOUNT, ACCOUNT_KEY } from '../harness.ts'
import { openRestAndSmb, type RestAndSmb } from './rest-and-smb.ts'
import { ACCESS, LEASE, SHARE, type OpenTerms } from './client-message.ts'

const world = await openRestAndSmb()
const url = `http://127.0.0.1:${world.server.blobPort}/${ACCOUNT}`
const credential = new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY)
const blobs = new BlobServiceClient(url, credential, { retryOptions: { maxTries: 1 } })
await blobs.createContainer('copies')

function urlOf(file: ShareFileClient): string {
  const permissions = FileSASPermissions.parse('r')
  return file.generateSasUrl({ permissions, expiresOn: new Date(world.server.now() + 3_600_000) })
}

const target = () => world.share.rootDirectoryClient.getFileClient(world.newName())

const COPIES: readonly (readonly [string, (url: string) => Promise<Buffer>])[] = [
  [
    'Copy File',
    async (url) => {
      const file = target()
      await file.startCopyFromURL(url)
      return await file.downloadToBuffer()
    },
  ],
  [
    'Put Range from URL',
    async (url) => {
      const file = target()
      await file.create(512)
      await file.uploadRangeFromURL(url, 0, 0, 512)
      return await file.downloadToBuffer()
    },
  ],
  [
    'Copy Blob from URL',
    async (url) => {
      const blob = blobs.getContainerClient('copies').getBlockBlobClient(world.newName())
      await blob.syncCopyFromURL(url)
      return await blob.downloadToBuffer()
    },
  ],
]

for (const [name, copy] of COPIES) {
  describe(name, () => {
    test('copies a file that a client has open and shares', async () => {
      const { file } = await world.opened({ share: SHARE.R })
      await copy(urlOf(file))
    })

    for (const [what, terms, prevent] of [
      ['does not share', { share: SHARE.WD }, async () => undefined],
      ['has locked', {}, (handle) => handle.lock(0, 1)],
      ['has marked for deletion', { access: ACCESS.all }, (handle) => handle.setDisposition(true)],
    ] as readonly (readonly [
      string,
      OpenTerms,
      (handle: Awaited<ReturnType<RestAndSmb['opened']>>['handle']) => Promise<unknown>,
    ])[]) {
      test(`refuses a file that a client ${what}`, async () => {
        const { file, handle } = await world.opened(terms)
        await prevent(handle)
        assert.notEqual(await outcomeOf(copy(urlOf(file))), 'ok')
        await handle.close()
      })
    }

    test("waits for a client's cached writes and copies them", async () => {
      const lease = { key: randomBytes(16), state: LEASE.RWH }
      const { file, client, handle } = await world.opened({ lease, access: ACCESS.all })
      const copying = copy(urlOf(file))
      const broken = await client.nextBreak()
      await handle.write(0, 'cached')
      await client.acknowledge(broken)
      assert.equal(String((await copying).subarray(0, 6)), 'cached')
    })
  })
}

test('a copy does not change its source', async () => {
  const file = await newFile(world)
  const { etag } = await file.getProperties()
  for (const [, copy] of COPIES) await copy(urlOf(file))
  assert.equal((await file.getProperties()).etag, etag)
})
