// Put Block: uncommitted blocks until a block list names them, where they are visible, and which requests are refused.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  ContainerSASPermissions,
  generateBlobSASQueryParameters,
  StorageSharedKeyCredential,
} from '@azure/storage-blob'
import { BareSocket, headBytes } from '../bare-socket.ts'
import {
  ACCOUNT,
  ACCOUNT_KEY,
  xmlText,
  xmlTexts,
  md5Of,
  type Headers,
  DAY_MS,
  assertRefused,
} from '../harness.ts'
import { BLOCK_BLOB, startBlobFixture } from './fixture.ts'

const { server, container, send } = await startBlobFixture()

const idOf = (text: string) => Buffer.from(text).toString('base64')
const blockPath = (blob: string, id: string) =>
  `/box/${blob}?comp=block&blockid=${encodeURIComponent(idOf(id))}`
const putBlock = (blob: string, id: string, body: string, headers: Headers = {}) =>
  send('PUT', blockPath(blob, id), headers, body)
const putList = (blob: string, ids: readonly string[], headers: Headers = {}) => {
  const blocks = ids.map((id) => `<Latest>${idOf(id)}</Latest>`).join('')
  return send('PUT', `/box/${blob}?comp=blocklist`, headers, `<BlockList>${blocks}</BlockList>`)
}
const uncommitted = async (blob: string) => {
  const { status, text } = await send(
    'GET',
    `/box/${blob}?comp=blocklist&blocklisttype=uncommitted`,
  )
  return status === 200
    ? xmlTexts(text, 'Name').map((id) => Buffer.from(id, 'base64').toString())
    : status
}

/** The check value of CRC-64/NVME, little-endian. */
const CHECK = '123456789'
const CHECK_CRC64 = Buffer.from('ae8b14860a799888', 'hex').reverse().toString('base64')

describe('a block', () => {
  test('becomes part of the blob only once a list names it', async () => {
    const blob = container.getBlockBlobClient('staged')
    await blob.stageBlock(idOf('b'), 'world', 5)
    await blob.stageBlock(idOf('a'), 'hello ', 6)
    assert.equal(await blob.exists(), false)
    await assertRefused(send('GET', '/box/staged'), 404, 'BlobNotFound')
    await assertRefused(send('HEAD', '/box/staged'), 404, 'BlobNotFound')
    await blob.commitBlockList([idOf('a'), idOf('b')])
    assert.equal(String(await blob.downloadToBuffer()), 'hello world')
  })

  test('does not change the ETag, Last-Modified and bytes of an existing blob', async () => {
    const { headers } = await send('PUT', '/box/there', BLOCK_BLOB, 'old')
    server.advance(5_000)
    assert.equal((await putBlock('there', 'a', 'new')).status, 201)
    const got = await send('GET', '/box/there')
    assert.equal(got.text, 'old')
    assert.equal(got.headers.etag, headers.etag)
    assert.equal(got.headers['last-modified'], headers['last-modified'])
  })

  test('replaces an earlier block with the same id', async () => {
    for (const body of ['first', 'second', 'third']) {
      assert.equal((await putBlock('again', 'a', body)).status, 201)
    }
    assert.deepEqual(await uncommitted('again'), ['a'])
    await putList('again', ['a'])
    assert.equal((await send('GET', '/box/again')).text, 'third')
  })

  test('must have an id as long as those of the other uncommitted blocks', async () => {
    await putBlock('long', '001', 'x')
    await assertRefused(putBlock('long', '01', 'x'), 400, 'InvalidBlobOrBlock')
    // In base64 these two have the same length; the decoded length counts.
    await assertRefused(putBlock('long', '0001', 'x'), 400, 'InvalidBlobOrBlock')
    assert.equal((await putList('long', ['001'])).status, 201)
    assert.equal((await putBlock('long', '01', 'y')).status, 201)
    assert.equal((await putList('long', ['001', '01'])).status, 201)
    assert.equal((await send('GET', '/box/long')).text, 'xy')
  })

  test('is discarded by Put Blob', async () => {
    await putBlock('over', 'a', 'block')
    await send('PUT', '/box/over', BLOCK_BLOB, 'whole')
    assert.deepEqual(await uncommitted('over'), [])
    await assertRefused(putList('over', ['a']), 400, 'InvalidBlockList')
    assert.equal((await send('GET', '/box/over')).text, 'whole')
  })

  for (const plus of ['%2B', '+']) {
    test(`can have a plus sign in its id, sent as ${plus}`, async () => {
      const id = plus.repeat(4)
      const sign = generateBlobSASQueryParameters(
        {
          containerName: 'box',
          permissions: ContainerSASPermissions.parse('cw'),
          expiresOn: new Date(server.now() + DAY_MS),
        },
        new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY),
      ).toString()
      const path = `/box/plus?comp=block&blockid=${id}`
      assert.equal((await send('PUT', path, {}, 'one', sign)).status, 201)
      const { text } = await send('GET', '/box/plus?comp=blocklist&blocklisttype=all')
      assert.deepEqual(xmlTexts(text, 'Name'), ['++++'])
    })
  }

  for (const days of [6, 7]) {
    test(`is ${days < 7 ? 'still there' : 'gone'} ${days} days after the last Put Block`, async () => {
      const blob = `days-${days}`
      await putBlock(blob, 'a', 'x')
      server.advance(3 * DAY_MS)
      await putBlock(blob, 'b', 'y')
      server.advance(days * DAY_MS)
      assert.deepEqual(await uncommitted(blob), days < 7 ? ['a', 'b'] : 404)
      await server.sweep()
      assert.deepEqual(await uncommitted(blob), days < 7 ? ['a', 'b'] : 404)
    })
  }

  test('after a week does not bring back earlier ones', async () => {
    await putBlock('week', 'long ago', 'x')
    server.advance(7 * DAY_MS)
    // The earlier ids were longer.
    assert.equal((await putBlock('week', 'now', 'y')).status, 201)
    assert.deepEqual(await uncommitted('week'), ['now'])
    await assertRefused(putList('week', ['long ago']), 400, 'InvalidBlockList')
  })
})

describe('the response', () => {
  // prettier-ignore
  const HASHES: readonly (readonly [version: string, sent: Headers, md5: boolean, crc64: boolean])[] = [
    ['2025-11-05', {}, false, true],
    ['2025-11-05', { 'Content-MD5': md5Of(CHECK) }, true, false],
    ['2025-11-05', { 'x-ms-content-crc64': CHECK_CRC64 }, false, true],
    ['2018-11-09', {}, true, false],
    ['2026-10-06', {}, true, true],
    ['2026-10-06', { 'Content-MD5': md5Of(CHECK) }, true, true],
  ]
  for (const [version, sent, md5, crc64] of HASHES) {
    test(`in ${version} to ${JSON.stringify(sent)} has the same hashes as Azure's`, async () => {
      const { status, headers } = await putBlock('hash', 'a', CHECK, {
        ...sent,
        'x-ms-version': version,
      })
      assert.equal(status, 201)
      assert.equal(headers['content-md5'], md5 ? md5Of(CHECK) : undefined)
      assert.equal(headers['x-ms-content-crc64'], crc64 ? CHECK_CRC64 : undefined)
      assert.equal(headers['x-ms-request-server-encrypted'], 'false')
      assert.deepEqual([headers.etag, headers['last-modified']], [undefined, undefined])
    })
  }
})

describe('Put Block is refused:', () => {
  // prettier-ignore
  const REFUSED: readonly (readonly [what: string, query: string, headers: Headers, status: number, code: string])[] = [
    ['no id', '', {}, 400, 'MissingRequiredQueryParameter'],
    ['an empty id', '&blockid=', {}, 400, 'InvalidQueryParameterValue'],
    ['an id that is not base64', '&blockid=AAAA-A%3D%3D', {}, 400, 'InvalidQueryParameterValue'],
    ['an id of 65 bytes', `&blockid=${encodeURIComponent(idOf('x'.repeat(65)))}`, {}, 400, 'InvalidQueryParameterValue'],
    ['a wrong MD5', '&blockid=AAAA', { 'Content-MD5': md5Of('other') }, 400, 'Md5Mismatch'],
    ['a malformed MD5', '&blockid=AAAA', { 'Content-MD5': 'abc' }, 400, 'InvalidMd5'],
    ['a wrong CRC-64', '&blockid=AAAA', { 'x-ms-content-crc64': 'AAAAAAAAAAA=' }, 400, 'Crc64Mismatch'],
    ['both hashes', '&blockid=AAAA', { 'Content-MD5': md5Of('x'), 'x-ms-content-crc64': CHECK_CRC64 }, 400, 'BothCrc64AndMd5HeaderPresent'],
    ['If-Match', '&blockid=AAAA', { 'If-Match': '*' }, 400, 'ConditionHeadersNotSupported'],
    ['If-None-Match', '&blockid=AAAA', { 'If-None-Match': '*' }, 400, 'ConditionHeadersNotSupported'],
    ['x-ms-if-tags', '&blockid=AAAA', { 'x-ms-if-tags': `a = 'b'` }, 400, 'ConditionHeadersNotSupported'],
    ['a snapshot', '&blockid=AAAA&snapshot=2020-01-01T00:00:00.0000000Z', {}, 400, 'InvalidQueryParameterValue'],
    ['a lease id without a lease', '&blockid=AAAA', { 'x-ms-lease-id': '11111111-1111-1111-1111-111111111111' }, 412, 'LeaseNotPresentWithBlobOperation'],
  ]
  for (const [what, query, headers, status, code] of REFUSED) {
    test(`${what}: ${status} ${code}, and nothing is stored`, async () => {
      await assertRefused(
        send('PUT', `/box/refused?comp=block${query}`, headers, 'x'),
        status,
        code,
      )
      assert.equal(await uncommitted('refused'), 404)
    })
  }

  test("an id that is not base64, with Azure's reason", async () => {
    const { text } = await send('PUT', '/box/b?comp=block&blockid=AAAA-A%3D%3D', {}, 'x')
    assert.equal(xmlText(text, 'QueryParameterName'), 'blockid')
    assert.equal(xmlText(text, 'QueryParameterValue'), 'AAAA-A==')
    assert.equal(xmlText(text, 'Reason'), 'Not a valid base64 string.')
  })

  test('an empty body, with the name of the header', async () => {
    const answer = await putBlock('empty', 'a', '')
    await assertRefused(answer, 400, 'InvalidHeaderValue')
    assert.equal(xmlText(answer.text, 'HeaderName'), 'Content-Length')
    assert.equal(xmlText(answer.text, 'HeaderValue'), '0')
  })

  test('no container, a page blob, an append blob, an archived blob', async () => {
    const nowhere = send('PUT', '/none/b?comp=block&blockid=AAAA', {}, 'x')
    await assertRefused(nowhere, 404, 'ContainerNotFound')
    const page = { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '512' }
    assert.equal((await send('PUT', '/box/page', page)).status, 201)
    await assertRefused(putBlock('page', 'a', 'x'), 409, 'InvalidBlobType')
    assert.equal((await send('PUT', '/box/append', { 'x-ms-blob-type': 'AppendBlob' })).status, 201)
    await assertRefused(putBlock('append', 'a', 'x'), 409, 'InvalidBlobType')
    const cold = { ...BLOCK_BLOB, 'x-ms-access-tier': 'Archive' }
    assert.equal((await send('PUT', '/box/cold', cold, 'x')).status, 201)
    await assertRefused(putBlock('cold', 'a', 'x'), 409, 'BlobArchived')
  })

  // prettier-ignore
  const LENGTHS: readonly (readonly [path: string, version: string, mib: number])[] = [
    [blockPath('big', 'a'), '2015-12-11', 4],
    [blockPath('big', 'a'), '2016-05-31', 100],
    [blockPath('big', 'a'), '2019-12-12', 4_000],
    ['/box/big', '2015-12-11', 64],
    ['/box/big', '2016-05-31', 256],
    ['/box/big', '2019-12-12', 5_000],
  ]
  for (const [path, version, mib] of LENGTHS) {
    test(`${path} of more than ${mib} MiB in ${version}, with 413 before the body`, async () => {
      const max = mib * 1024 * 1024
      const headers = { ...BLOCK_BLOB, 'x-ms-version': version, 'content-length': String(max + 1) }
      const socket = await BareSocket.open(server.blobPort)
      socket.send(headBytes({ method: 'PUT', path, headers }))
      const answer = await socket.answer()
      assert.equal(answer?.status, 413)
      assert.equal(answer?.headers['x-ms-error-code'], 'RequestBodyTooLarge')
      socket.close()
    })
  }
})

describe('a lease', () => {
  const LEASE = { 'x-ms-lease-id': '22222222-2222-2222-2222-222222222222' }
  const OTHER = { 'x-ms-lease-id': '33333333-3333-3333-3333-333333333333' }
  const acquire = async (blob: string) => {
    const { 'x-ms-lease-id': id } = LEASE
    const headers = {
      'x-ms-lease-action': 'acquire',
      'x-ms-lease-duration': '15',
      'x-ms-proposed-lease-id': id,
    }
    const { status } = await send('PUT', `/box/${blob}?comp=lease`, headers)
    assert.equal(status, 201)
  }

  for (const state of ['committed', 'uncommitted']) {
    test(`of a blob that is ${state} is needed to write its blocks`, async () => {
      const blob = `leased-${state}`
      await putBlock(blob, 'a', 'x')
      if (state === 'committed') await putList(blob, ['a'])
      await acquire(blob)
      await assertRefused(putBlock(blob, 'b', 'y'), 412, 'LeaseIdMissing')
      await assertRefused(putBlock(blob, 'b', 'y', OTHER), 412, 'LeaseIdMismatchWithBlobOperation')
      assert.equal((await putBlock(blob, 'b', 'y', LEASE)).status, 201)
      await assertRefused(putList(blob, ['a', 'b']), 412, 'LeaseIdMissing')
      assert.equal((await putList(blob, ['a', 'b'], LEASE)).status, 201)
      const { text, headers } = await send('GET', `/box/${blob}`)
      assert.deepEqual([text, headers['x-ms-lease-state']], ['xy', 'leased'])
      server.advance(15_000)
      await assertRefused(putBlock(blob, 'b', 'z', LEASE), 412, 'LeaseLost')
      assert.equal((await putBlock(blob, 'b', 'z')).status, 201)
      // Put Block does not write the blob, so its lease can still be renewed.
      const renew = { ...LEASE, 'x-ms-lease-action': 'renew' }
      assert.equal((await send('PUT', `/box/${blob}?comp=lease`, renew)).status, 200)
    })
  }
})

describe('Delete Blob', () => {
  test('discards the uncommitted blocks of a blob that has only those', async () => {
    await putBlock('only-blocks', 'a', 'one')
    assert.equal((await send('DELETE', '/box/only-blocks')).status, 202)
    assert.equal(await uncommitted('only-blocks'), 404)
    await assertRefused(send('DELETE', '/box/only-blocks'), 404, 'BlobNotFound')
  })

  test('deletes uncommitted blocks too', async () => {
    await putBlock('with-blocks', 'a', 'one')
    await putList('with-blocks', ['a'])
    await putBlock('with-blocks', 'b', 'two')
    assert.equal((await send('DELETE', '/box/with-blocks')).status, 202)
    assert.equal(await uncommitted('with-blocks'), 404)
  })

  test('needs the lease of a blob that has only uncommitted blocks', async () => {
    await putBlock('leased-blocks', 'a', 'one')
    const acquire = { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '-1' }
    const leased = await send('PUT', '/box/leased-blocks?comp=lease', acquire)
    await assertRefused(send('DELETE', '/box/leased-blocks'), 412, 'LeaseIdMissing')
    assert.deepEqual(await uncommitted('leased-blocks'), ['a'])
    const lease = { 'x-ms-lease-id': String(leased.headers['x-ms-lease-id']) }
    assert.equal((await send('DELETE', '/box/leased-blocks', lease)).status, 202)
  })
})
