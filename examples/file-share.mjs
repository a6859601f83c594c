// Writes a file to a share, takes a snapshot of the share, changes the file, and restores it from the snapshot. A
// snapshot of a whole share costs one record.
//
//   npm start                      in one terminal, then in another:
//   node examples/file-share.mjs
//
// Set AZURE_STORAGE_CONNECTION_STRING to use another server. The share is also available over SMB, with the account's
// name and key:
//   smbclient //127.0.0.1/reports --port=10445 --user=devstoreaccount1%KEY
import { ShareServiceClient } from '@azure/storage-file-share'

const LOCAL =
  'DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;' +
  'AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;' +
  'FileEndpoint=http://127.0.0.1:10003/devstoreaccount1;'

// The SDK's UseDevelopmentStorage=true has no File endpoint, so it is given here.
const server = process.env.AZURE_STORAGE_CONNECTION_STRING ?? LOCAL
const share = ShareServiceClient.fromConnectionString(server).getShareClient('reports')
await share.createIfNotExists()

const directory = share.getDirectoryClient('2026')
await directory.createIfNotExists()
const file = directory.getFileClient('summary.txt')
await file.uploadData(Buffer.from('first draft'))

const { snapshot } = await share.createSnapshot()

await file.uploadRange('FINAL', 0, 5) // Overwrites only these bytes.
process.stdout.write(`current:  ${await file.downloadToBuffer()}\n`)

const past = file.withShareSnapshot(snapshot)
process.stdout.write(`snapshot: ${await past.downloadToBuffer()}\n`)

// Restore the file from the snapshot. The bytes are shared, not copied.
await file.startCopyFromURL(past.url)
process.stdout.write(`restored: ${await file.downloadToBuffer()}\n`)

await share.delete({ deleteSnapshots: 'include' })
