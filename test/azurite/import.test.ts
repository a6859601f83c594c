// Azurite's data in Lazuli: the real Azurite writes it, and everything that its clients saw is compared through the SDKs.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs' // prettier-ignore
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { startServer } from '../../src/server.ts'
import {
  cleanUp,
  launch,
  MAIN,
  run,
  startServerProcess,
  stop,
  tempFolder,
  type Ended,
} from '../server-process.ts'
import { startAzurite } from './azurite-process.ts'
import { clientsOf, fill, LEASE_ID, pictureOf, type Place, type SampleAccount } from './sample.ts'

after(cleanUp)

const ONE: SampleAccount = { name: 'one', key: Buffer.alloc(32, 1).toString('base64') }
const TWO: SampleAccount = { name: 'two', key: Buffer.alloc(32, 2).toString('base64') }
const ACCOUNTS = { AZURITE_ACCOUNTS: [ONE, TWO].map(({ name, key }) => `${name}:${key}`).join(';') }

const AZURITE = tempFolder('azurite')
let pictures: readonly unknown[]

before(async () => {
  const azurite = await startAzurite(AZURITE, ACCOUNTS)
  await fill(clientsOf(azurite, ONE))
  const two = clientsOf(azurite, TWO)
  await two.blobs.createContainer('other')
  // Without it, each server shows its own.
  await two.blobs.setProperties({ defaultServiceVersion: '2021-12-02' })
  pictures = await bothOf(azurite)
  await azurite.stop()
})

function bothOf(place: Place): Promise<readonly unknown[]> {
  return Promise.all([ONE, TWO].map((account) => pictureOf(clientsOf(place, account))))
}

function importInto(location: string, from = AZURITE, ...args: readonly string[]): Promise<Ended> {
  return run({ args: ['import', 'azurite', from, '--location', location, ...args] })
}

/** With the same accounts and the machine's time. */
function open(location: string) {
  return startServer({ location, accounts: { one: ONE.key, two: TWO.key } })
}

function copyOfAzurite(): string {
  const folder = tempFolder('azurite-copy')
  cpSync(AZURITE, folder, { recursive: true })
  return folder
}

/** Names and bytes of Azurite's files. */
function filesOf(folder: string): readonly string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8', withFileTypes: true })
  const files = names.filter((entry) => entry.isFile() && (entry.parentPath.slice(folder.length + 1) || entry.name).startsWith('__')) // prettier-ignore
  return files.map(({ parentPath, name }) => {
    const path = join(parentPath, name)
    return `${path.slice(folder.length)} ${createHash('sha256').update(readFileSync(path)).digest('hex')}`
  }).toSorted() // prettier-ignore
}

describe('lazuli import azurite', () => {
  test('imports everything that clients saw, and changes none of the files', async () => {
    const location = tempFolder('imported')
    const before = filesOf(AZURITE)
    const ended = await importInto(location)
    assert.deepEqual([ended.code, /^lazuli: /m.test(ended.stderr)], [0, false], ended.stderr)
    assert.match(ended.stdout, /3 containers, 3 snapshots, 9 blobs, 2 uncommitted blocks, 2 queues, 3 messages, 2 tables, 121 entities/) // prettier-ignore
    assert.match(ended.stdout, /^nothing was left out$/m)
    assert.deepEqual(filesOf(AZURITE), before)
    {
      await using server = await open(location)
      assert.deepEqual(await bothOf(server), pictures)
    }
    assert.equal((await run({ args: ['fsck', '--location', location] })).code, 0)
  })

  test('leases hold, uncommitted blocks can be committed, and messages come back with their counts', async () => {
    const location = tempFolder('alive')
    assert.equal((await importInto(location)).code, 0)
    await using server = await startServer({ location, clock: 'held', accounts: { one: ONE.key } })
    const { blobs, queues } = clientsOf(server, ONE)
    const container = blobs.getContainerClient('photos')
    const blocks = container.getBlockBlobClient('blocks')
    const staged = [Buffer.from('new').toString('base64')]
    await assert.rejects(blocks.commitBlockList(staged), { code: 'LeaseIdMissing' })
    await assert.rejects(container.delete(), { code: 'LeaseIdMissing' })
    await blocks.commitBlockList(staged, { conditions: { leaseId: LEASE_ID } })
    assert.equal((await blocks.downloadToBuffer()).toString(), 'uncommitted')
    const leases = await server.held.leases()
    assert.equal(leases.length, 2)
    await server.clock.advance('PT10M')
    const orders = queues.getQueueClient('orders')
    const { receivedMessageItems } = await orders.receiveMessages({ numberOfMessages: 32 })
    assert.deepEqual(receivedMessageItems.map(({ messageText, dequeueCount }) => [messageText, dequeueCount]),
      [['<never> & ü', 1], ['later', 1], ['held by somebody', 2]]) // prettier-ignore
  })

  test('--services imports only those', async () => {
    const location = tempFolder('tables')
    const ended = await importInto(location, AZURITE, '--services', 'table,queue')
    assert.match(ended.stdout, /: 2 queues, 3 messages, 2 tables, 121 entities$/m)
  })

  test('names what the rules of Azure do not allow, and imports the rest', async () => {
    const from = copyOfAzurite()
    const path = join(from, '__azurite_db_blob__.json')
    const text = readFileSync(path, 'utf8')
    writeFileSync(path, text.replaceAll('"a folder/ä b.txt"', '"../other"').replace('"Owner"', '"No name"')) // prettier-ignore
    const ended = await importInto(tempFolder('part'), from)
    assert.deepEqual([ended.code, /^lazuli: .*/m.exec(ended.stderr)?.[0]], [1, undefined])
    assert.match(ended.stdout, /^left out:$/m)
    assert.match(ended.stdout, /^ {2}container one\/photos: invalid header$/m)
  })

  test('an interrupted import is begun again; a server does not start with its half', async () => {
    const location = tempFolder('killed')
    const args = ['import', 'azurite', AZURITE, '--location', location]
    const importing = launch({ args })
    await importing.printed(/containers: /)
    await stop(importing, 'SIGKILL')
    // It may have been complete already: then it has removed its mark.
    if (readdirSync(location).includes('azurite-import')) {
      const started = await run({ args: ['--location', location, '--blobPort', '0'] })
      assert.match(started.stderr, /^lazuli: the import from .* did not finish; run it again: lazuli import azurite [^\n]+\n$/) // prettier-ignore
      assert.equal((await importInto(location)).code, 0)
    }
    await using server = await open(location)
    assert.deepEqual(await bothOf(server), pictures)
  })
})

describe('refuses, and imports nothing', () => {
  const REFUSED: Readonly<Record<string, readonly [(from: string) => void, RegExp]>> = {
    'a database that was cut off': [
      (from) => truncateSync(join(from, '__azurite_db_table__.json'), 3_000),
      /__azurite_db_table__\.json is damaged: it ends early \(byte 3000\)/,
    ],
    'a database of zeros': [
      (from) => writeFileSync(join(from, '__azurite_db_queue__.json'), Buffer.alloc(100)),
      /__azurite_db_queue__\.json is damaged: it is not JSON/,
    ],
    'bytes that are lost': [
      (from) => rmSync(join(from, '__blobstorage__'), { recursive: true }),
      /__azurite_db_blob__\.json: the bytes \d+ to \d+ of .* are lost: .* is missing/,
    ],
    'an extent that was cut off': [
      (from) => {
        const folder = join(from, '__queuestorage__')
        for (const name of readdirSync(folder)) truncateSync(join(folder, name), 3)
      },
      /the bytes \d+ to \d+ of the message .* are lost: .* ends at byte 3/,
    ],
    'blobs whose records are in a database': [
      (from) => rmSync(join(from, '__azurite_db_blob__.json')),
      /are in the database of AZURITE_DB, which Lazuli cannot read: .*--services queue,table/,
    ],
    'another folder': [
      (from) => {
        rmSync(from, { recursive: true })
        mkdirSync(from)
      },
      /has no data of Azurite 3/,
    ],
  }

  for (const [what, [prepare, message]] of Object.entries(REFUSED)) {
    test(what, async () => {
      const from = copyOfAzurite()
      prepare(from)
      const location = join(tempFolder('nothing'), 'new')
      const ended = await importInto(location, from)
      assert.match(ended.stderr, message)
      assert.match(ended.stderr, /^lazuli: [^\n]+\n$/)
      assert.deepEqual([ended.code, ended.stdout], [1, ''])
      assert.throws(() => readdirSync(location), { code: 'ENOENT' })
    })
  }

  test('a store that has data', async () => {
    const location = tempFolder('full')
    assert.equal((await importInto(location)).code, 0)
    const ended = await importInto(location)
    assert.match(ended.stderr, /has data already; import into an empty folder/)
    assert.equal(ended.code, 1)
  })
})

describe('azurite --location on a folder of Azurite', () => {
  const program = (): readonly [string, string] => {
    const path = join(tempFolder('bin'), 'azurite')
    symlinkSync(MAIN, path)
    return [process.execPath, path]
  }

  test('imports it at the first start, once, and leaves the files alone', async () => {
    const location = copyOfAzurite()
    const before = filesOf(location)
    const start = () =>
      startServerProcess({ program: program(), args: ['--location', location], env: ACCOUNTS })
    const first = await start()
    assert.match(first.stdout(), /imported from .*: 3 containers/)
    const place = { blobPort: first.blobPort, queuePort: 0, tablePort: 0 }
    await clientsOf(place, TWO).blobs.deleteContainer('other')
    await stop(first)
    const second = await start()
    assert.doesNotMatch(second.stdout(), /import/)
    const clients = clientsOf({ ...place, blobPort: second.blobPort }, TWO)
    assert.equal(await clients.blobs.getContainerClient('other').exists(), false)
    await stop(second)
    assert.deepEqual(filesOf(location), before)
  })

  test('does not start empty if the data is damaged', async () => {
    const location = copyOfAzurite()
    truncateSync(join(location, '__azurite_db_table__.json'), 3_000)
    const ended = await run({ program: program(), args: ['--location', location], env: ACCOUNTS })
    assert.match(ended.stderr, /__azurite_db_table__\.json is damaged/)
    assert.equal(ended.code, 1)
  })

  test('finds it in the current folder, where Azurite keeps it by default', async () => {
    const cwd = copyOfAzurite()
    const server = await startServerProcess({ program: program(), args: [], cwd, env: ACCOUNTS })
    assert.match(server.stdout(), /imported from .* into .*\.lazuli: 3 containers/)
    await stop(server)
  })
})
