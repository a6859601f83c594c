// A file as the source of a copy is read as by Get File: an SMB client that does not share it, has locked it, has
// marked it for deletion or caches what it wrote is in the way of whoever copies from it.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob'
import { FileSASPermissions, type ShareFileClient } from '@azure/storage-file-share'
import { newFile } from '../file/file-operations.ts'
import { outcomeOf } from '../file/smb-client.ts'
import { ACCOUNT, ACCOUNT_KEY } from '../harness.ts'
import { openDoors, type Doors } from './both-doors.ts'
import { ACCESS, LEASE, SHARE, type OpenTerms } from './client-message.ts'

let doors: Doors
let blobs: BlobServiceClient

before(async () => {
  doors = await openDoors()
  const url = `http://127.0.0.1:${doors.server.blobPort}/${ACCOUNT}`
  const credential = new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY)
  blobs = new BlobServiceClient(url, credential, { retryOptions: { maxTries: 1 } })
  await blobs.createContainer('copies')
})
after(() => doors.close())

function urlOf(file: ShareFileClient): string {
  const permissions = FileSASPermissions.parse('r')
  return file.generateSasUrl({ permissions, expiresOn: new Date(doors.server.now() + 3_600_000) })
}

const target = () => doors.share.rootDirectoryClient.getFileClient(doors.newName())

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
      const blob = blobs.getContainerClient('copies').getBlockBlobClient(doors.newName())
      await blob.syncCopyFromURL(url)
      return await blob.downloadToBuffer()
    },
  ],
]

for (const [name, copy] of COPIES) {
  describe(name, () => {
    test('from a file that a client has open and shares', async () => {
      const { file } = await doors.opened({ share: SHARE.R })
      await copy(urlOf(file))
    })

    for (const [what, terms, spoil] of [
      ['does not share', { share: SHARE.WD }, async () => undefined],
      ['has locked', {}, (handle) => handle.lock(0, 1)],
      ['has marked for deletion', { access: ACCESS.all }, (handle) => handle.setDisposition(true)],
    ] as readonly (readonly [
      string,
      OpenTerms,
      (handle: Awaited<ReturnType<Doors['opened']>>['handle']) => Promise<unknown>,
    ])[]) {
      test(`from a file that a client ${what} is refused`, async () => {
        const { file, handle } = await doors.opened(terms)
        await spoil(handle)
        assert.notEqual(await outcomeOf(copy(urlOf(file))), 'ok')
        await handle.close()
      })
    }

    test('waits for what a client has cached, and copies that', async () => {
      const lease = { key: randomBytes(16), state: LEASE.RWH }
      const { file, client, handle } = await doors.opened({ lease, access: ACCESS.all })
      const copying = copy(urlOf(file))
      const asked = await client.nextBreak()
      await handle.write(0, 'cached')
      await client.acknowledge(asked)
      assert.equal(String((await copying).subarray(0, 6)), 'cached')
    })
  })
}

test('a file that is copied from is left as it is', async () => {
  const file = await newFile(doors)
  const { etag } = await file.getProperties()
  for (const [, copy] of COPIES) await copy(urlOf(file))
  assert.equal((await file.getProperties()).etag, etag)
})
