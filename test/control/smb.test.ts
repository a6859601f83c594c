// Barriers and faults over SMB: the order of two clients of one file, and what clients see of each effect.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { BarrierRule, FaultRule } from '../../src/control/api.ts'
import { startTestServer } from '../harness.ts'
import { SmbClient, statusOf } from '../smb/smb-client.ts'
import { ACCESS, COMMANDS, createBody, DISPOSITION, SHARE } from '../smb/client-message.ts'
import { namedShares } from './named-clients.ts'

const server = await startTestServer()
after(() => server.close())

const share = namedShares(server, 'REST').getShareClient('world')
await share.create()

const clients: SmbClient[] = []
after(() => {
  for (const client of clients) client.end()
})

async function connect(): Promise<SmbClient> {
  const client = await SmbClient.connect({ port: server.smbPort, share: 'world' })
  clients.push(client)
  return client
}

const WRITING = { access: ACCESS.read | ACCESS.write }

let count = 0

async function newFile(content = 'old'): Promise<string> {
  const name = `file${(count += 1)}`
  const file = share.rootDirectoryClient.getFileClient(name)
  await file.create(content.length)
  await file.uploadRange(content, 0, content.length)
  return name
}

async function textOf(name: string): Promise<string> {
  return String(await share.rootDirectoryClient.getFileClient(name).downloadToBuffer())
}

/** Starts both up to the barrier, and lets the second one go on first if `isReversed`. */
async function race(
  rule: BarrierRule,
  isReversed: boolean,
  racers: readonly (() => Promise<unknown>)[],
): Promise<readonly string[]> {
  const barrier = server.barriers.hold(rule)
  const running: Promise<string>[] = []
  for (const racer of racers) {
    running.push(statusOf(racer()))
    await barrier.held(running.length)
  }
  const names = (await barrier.held(2)).map(({ client }) => client)
  await barrier.release(...(isReversed ? names.toReversed() : names))
  barrier.remove()
  return Promise.all(running)
}

const ORDERS = [false, true]

for (const isReversed of ORDERS) {
  describe(isReversed ? 'the second goes on first' : 'the first goes on first', () => {
    test('two exclusive CREATEs: the other gets SHARING_VIOLATION', async () => {
      const name = await newFile()
      const [one, other] = [await connect(), await connect()]
      const rule = {
        at: 'checked',
        match: { operation: 'CREATE', path: `/world/${name}` },
      } as const
      const exclusive = { share: SHARE.none }
      const found = await race(rule, isReversed, [
        () => one.open(name, exclusive),
        () => other.open(name, exclusive),
      ])
      const expected = ['SUCCESS', 'SHARING_VIOLATION']
      assert.deepEqual(found, isReversed ? expected.toReversed() : expected)
    })

    test('two WRITEs: the last one stands', async () => {
      const name = await newFile()
      const handles = [
        await (await connect()).open(name, WRITING),
        await (await connect()).open(name, WRITING),
      ]
      const rule = { at: 'checked', match: { service: 'smb', operation: 'WRITE' } } as const
      const found = await race(rule, isReversed, [
        async () => handles[0]?.write(0, 'one'),
        async () => handles[1]?.write(0, 'two'),
      ])
      assert.deepEqual(found, ['SUCCESS', 'SUCCESS'])
      assert.equal(await textOf(name), isReversed ? 'one' : 'two')
    })

    test('a CLOSE against a CREATE', async () => {
      const name = await newFile()
      const [one, other] = [await connect(), await connect()]
      const handle = await one.open(name, { share: SHARE.none })
      const rule = { at: 'authorized', match: { path: `/world/${name}` } } as const
      const found = await race(rule, isReversed, [
        () => handle.close(),
        () => other.open(name, { share: SHARE.none }),
      ])
      assert.deepEqual(found, ['SUCCESS', isReversed ? 'SHARING_VIOLATION' : 'SUCCESS'])
    })
  })
}

test('a held command gets an interim response, and goes on when its connection ends', async () => {
  const name = await newFile()
  const client = await connect()
  const barrier = server.barriers.hold({
    at: 'checked',
    match: { operation: 'CREATE', path: `/world/${name}` },
  })
  const terms = { share: SHARE.none, disposition: DISPOSITION.overwrite, access: ACCESS.write }
  const { answer, pending } = client.begin(COMMANDS.CREATE, createBody(name, terms))
  const ending = assert.rejects(answer, /the connection has ended/)
  await pending
  assert.equal(barrier.state().held.length, 1)
  assert.equal(await textOf(name), 'old')
  client.end()
  await ending
  // CREATE empties the file.
  const file = share.rootDirectoryClient.getFileClient(name)
  while ((await file.getProperties()).contentLength !== 0) continue
  assert.equal(barrier.state().releasedCount, 1)
  barrier.remove()
})

describe('a fault', () => {
  async function withFault<T>(rule: FaultRule, run: () => Promise<T>): Promise<T> {
    const fault = server.faults.add(rule)
    try {
      return await run()
    } finally {
      fault.remove()
    }
  }

  const WRITE = { service: 'smb', operation: 'WRITE' } as const
  const STATUSES = [
    [{ status: 503 }, 'INSUFFICIENT_RESOURCES'],
    [{ status: 429 }, 'INSUFFICIENT_RESOURCES'],
    [{ status: 500 }, 'INTERNAL_ERROR'],
    [{ status: 408 }, 'IO_TIMEOUT'],
    [{ status: 409, code: 'SharingViolation' }, 'SHARING_VIOLATION'],
    [{ disk: 'full' }, 'DISK_FULL'],
    [{ disk: 'sync failure' }, 'INTERNAL_ERROR'],
  ] as const
  for (const [effect, status] of STATUSES) {
    test(`${JSON.stringify(effect)} fails a WRITE with ${status} and changes nothing`, async () => {
      const name = await newFile()
      const handle = await (await connect()).open(name, WRITING)
      const found = await withFault({ match: WRITE, effect }, () =>
        statusOf(handle.write(0, 'new')),
      )
      assert.equal(found, status)
      assert.equal(await textOf(name), 'old')
      await handle.write(0, 'new')
      assert.equal(await textOf(name), 'new')
    })
  }

  test('of the disk lets files be opened and closed', async () => {
    const name = await newFile()
    const client = await connect()
    await withFault({ effect: { disk: 'full' } }, async () => {
      const handle = await client.open(name, WRITING)
      assert.equal(String(await handle.read(0, 3)), 'old')
      await handle.close()
    })
  })

  for (const [reset, text] of [
    ['before', 'old'],
    ['after', 'new'],
  ] as const) {
    test(`ends the connection ${reset} the write`, async () => {
      const name = await newFile()
      const handle = await (await connect()).open(name, WRITING)
      await withFault({ match: WRITE, effect: { reset } }, () =>
        assert.rejects(handle.write(0, 'new'), /the connection has ended/),
      )
      assert.equal(await textOf(name), text)
    })
  }

  test('delays and slows down what succeeds in the end', async () => {
    const name = await newFile()
    const handle = await (await connect()).open(name, WRITING)
    await withFault({ effect: { delay: 1 } }, () => handle.write(0, 'one'))
    assert.equal(await textOf(name), 'one')
    await withFault({ effect: { bytesPerSecond: 1_000_000 } }, async () => {
      await handle.write(0, 'two')
      assert.equal(String(await handle.read(0, 3)), 'two')
    })
  })
})
