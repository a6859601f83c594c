// A program of the tests: uses the three services at Azurite's ports, and checks what an earlier run has written.
//   node client.ts [account:key] [read]
import assert from 'node:assert/strict'
import { clientsOf } from '../azurite/sample.ts'
import { WELL_KNOWN_KEY } from '../../src/start/account/account-list.ts'

const [, , account = `devstoreaccount1:${WELL_KNOWN_KEY}`, mode] = process.argv
const [name = '', key = ''] = account.split(':')
const place = { blobPort: 10_000, queuePort: 10_001, tablePort: 10_002 }
const { blobs, queues, table } = clientsOf(place, { name, key })
const blob = blobs.getContainerClient('box').getBlockBlobClient('a')
const people = table('People')
const orders = queues.getQueueClient('orders')

if (mode !== 'read') {
  await blobs.createContainer('box')
  await blob.uploadData(Buffer.alloc(1_000_000, 'x'))
  await orders.create()
  await orders.sendMessage('hello')
  await people.createTable()
  await people.createEntity({ partitionKey: 'a', rowKey: 'b', name: 'Ann' })
}
assert.equal((await blob.downloadToBuffer()).length, 1_000_000)
const { peekedMessageItems } = await orders.peekMessages()
assert.deepEqual(peekedMessageItems.map(({ messageText }) => messageText), ['hello']) // prettier-ignore
assert.equal((await people.getEntity('a', 'b')).name, 'Ann')
console.log('ok')
