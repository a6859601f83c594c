// Nodes whose machines have clocks that are wrong by an hour, in both directions: they agree about leases, the visibility of
// messages, and what is signed for a time, because they use the database's clock.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { after, before, describe, test } from 'node:test'
import {
  BlobSASPermissions,
  generateBlobSASQueryParameters,
  StorageSharedKeyCredential,
} from '@azure/storage-blob'
import { SKIP_REASON, testServer } from '../../src/postgres/harness.ts'
import { ACCOUNT, ACCOUNT_KEY, outcome, sendTo, xmlText, type Send } from '../harness.ts'
import { cleanUp } from '../server-process.ts'
import { shiftedClock, startNodeProcess, until, type NodeProcess, type ServiceName } from './rig.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
/** More than a test takes, and much less than an hour. */
const CLOSE_MS = 5 * MINUTE_MS

describe('clocks that are wrong by an hour', { skip: SKIP_REASON ?? false }, () => {
  let nodes: readonly NodeProcess[]

  before(async () => {
    const postgres = await testServer()
    const url = postgres.url(await postgres.newDatabase())
    nodes = await Promise.all([
      startNodeProcess({ url, name: 'behind', clockAheadMs: -HOUR_MS }),
      startNodeProcess({ url, name: 'ahead', clockAheadMs: HOUR_MS }),
    ])
    assert.equal(outcome(await sends('blob')[0]('PUT', '/box?restype=container')), '201')
    assert.equal(outcome(await sends('queue')[0]('PUT', '/box')), '201')
  })

  after(cleanUp)

  /** Requests to the one that is behind and to the one that is ahead. */
  const sends = (service: ServiceName): readonly [Send, Send] => {
    const [behind, ahead] = nodes.map(({ ports }) => sendTo(ports[service]))
    assert(behind !== undefined && ahead !== undefined)
    return [behind, ahead]
  }

  const assertNow = (text: string | undefined): void => {
    const differenceMs = Math.abs(Date.parse(text ?? '') - Date.now())
    assert(differenceMs < CLOSE_MS, `${text} is ${differenceMs} ms off`)
  }

  test('Node has them as well', () => {
    for (const aheadMs of [-HOUR_MS, HOUR_MS]) {
      const env = { ...process.env, ...shiftedClock(aheadMs) }
      const code = 'console.log(Date.now(), new Date().getTime(), new Date(5).getTime())'
      const text = execFileSync(process.execPath, ['-e', code], { env, encoding: 'utf8' })
      const [now = 0, made = 0, given] = text.split(' ').map(Number)
      for (const each of [now, made]) assertNow(new Date(each - aheadMs).toISOString())
      assert.equal(given, 5)
    }
  })

  test('times of objects are right', async () => {
    for (const [at, send] of sends('blob').entries()) {
      const put = await send('PUT', `/box/time-${at}`, { 'x-ms-blob-type': 'BlockBlob' }, 'x')
      assert.equal(outcome(put), '201')
      assertNow(put.headers['last-modified'])
    }
  })

  test('a request is as old as its date, for both', async () => {
    for (const send of sends('blob')) {
      for (const [ageMs, expected] of [
        [10 * MINUTE_MS, 200],
        [20 * MINUTE_MS, 403],
        [-10 * MINUTE_MS, 200],
        [-20 * MINUTE_MS, 403],
      ] as const) {
        const date = new Date(Date.now() - ageMs).toUTCString()
        const { status } = await send('GET', '/box?restype=container', { 'x-ms-date': date })
        assert.equal(status, expected, `${ageMs} ms old`)
      }
    }
  })

  test('a SAS begins and ends at its times, for both', async () => {
    const credential = new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY)
    const sasFor = (fromMs: number, toMs: number): string =>
      generateBlobSASQueryParameters(
        {
          containerName: 'box',
          blobName: 'time-0',
          permissions: BlobSASPermissions.parse('r'),
          startsOn: new Date(Date.now() + fromMs),
          expiresOn: new Date(Date.now() + toMs),
        },
        credential,
      ).toString()
    for (const send of sends('blob')) {
      const status = async (fromMs: number, toMs: number): Promise<number> =>
        (await send('GET', '/box/time-0', {}, undefined, sasFor(fromMs, toMs))).status
      assert.equal(await status(-CLOSE_MS, CLOSE_MS), 200)
      assert.equal(await status(-HOUR_MS, -CLOSE_MS), 403, 'it has ended')
      assert.equal(await status(CLOSE_MS, 2 * HOUR_MS), 403, 'it has not begun')
    }
  })

  test('a lease that one grants holds for the other', async () => {
    for (const [at, [here, there]] of bothWays(sends('blob')).entries()) {
      const path = `/box/time-${at}`
      const terms = { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '60' }
      const acquired = await here('PUT', `${path}?comp=lease`, terms)
      assert.equal(outcome(acquired), '201')
      assert.equal(
        outcome(await there('PUT', `${path}?comp=lease`, terms)),
        '409 LeaseAlreadyPresent',
      )
      const put = await there('PUT', path, { 'x-ms-blob-type': 'BlockBlob' }, 'y')
      assert.equal(outcome(put), '412 LeaseIdMissing')
      const id = { 'x-ms-lease-id': String(acquired.headers['x-ms-lease-id']) }
      const renewed = await there('PUT', `${path}?comp=lease`, {
        'x-ms-lease-action': 'renew',
        ...id,
      })
      assert.equal(outcome(renewed), '200')
    }
  })

  test('a message that one hides is hidden from the other, and appears for both at the same time', async () => {
    for (const [here, there] of bothWays(sends('queue'))) {
      const body = '<QueueMessage><MessageText>x</MessageText></QueueMessage>'
      const put = await here('POST', '/box/messages?visibilitytimeout=1', {}, body)
      assertNow(xmlText(put.text, 'InsertionTime'))
      assertNow(xmlText(put.text, 'TimeNextVisible'))
      const get = '/box/messages?visibilitytimeout=1800'
      let found: string | undefined
      await until(async () => {
        found = xmlText((await there('GET', get)).text, 'MessageId')
        return found !== undefined
      })
      assert.equal(found, xmlText(put.text, 'MessageId'))
      for (const send of [here, there]) {
        assert.equal(xmlText((await send('GET', get)).text, 'MessageId'), undefined)
      }
    }
  })
})

function bothWays<T>([one, other]: readonly [T, T]): readonly (readonly [T, T])[] {
  return [
    [one, other],
    [other, one],
  ]
}
