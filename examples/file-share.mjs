// A share with a file in it, and the share as it was. The file is written in ranges, where the bytes belong; a
// snapshot keeps the whole share at the cost of one record, and one file is brought back from it.
//
//   npm start                      in one terminal, and in another:
//   node examples/file-share.mjs   or with AZURE_STORAGE_CONNECTION_STRING for another server
//
// Shares are reached by SMB too, with the account's name and key:
//   smbclient //127.0.0.1/reports --port=10445 --user=devstoreaccount1%KEY
import { ShareServiceClient } from '@azure/storage-file-share'

const LOCAL =
  'DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;' +
  'AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;' +
  'FileEndpoint=http://127.0.0.1:10003/devstoreaccount1;'

// UseDevelopmentStorage=true has no File service for the SDK: the endpoint has to be named.
const server = process.env.AZURE_STORAGE_CONNECTION_STRING ?? LOCAL
const share = ShareServiceClient.fromConnectionString(server).getShareClient('reports')
await share.createIfNotExists()

const directory = share.getDirectoryClient('2026')
await directory.createIfNotExists()
const file = directory.getFileClient('summary.txt')
await file.uploadData(Buffer.from('first draft'))

const { snapshot } = await share.createSnapshot()

await file.uploadRange('FINAL', 0, 5) // Only these bytes; the file keeps its length.
process.stdout.write(`now: ${await file.downloadToBuffer()}\n`)

const past = file.withShareSnapshot(snapshot)
process.stdout.write(`then: ${await past.downloadToBuffer()}\n`)

// A copy from the snapshot brings the file back; the bytes are shared, not copied.
await file.startCopyFromURL(past.url)
process.stdout.write(`again: ${await file.downloadToBuffer()}\n`)

await share.delete({ deleteSnapshots: 'include' })
