// Submit Batch: several requests in one, each with its own credentials and its own response.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  ContainerSASPermissions,
  generateBlobSASQueryParameters,
  StorageSharedKeyCredential,
} from '@azure/storage-blob'
import { ACCOUNT, ACCOUNT_KEY } from '../harness.ts'
import { startBlobFixture } from './fixture.ts'

const { server, service, container, send } = await startBlobFixture()
const credential = new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY)

const put = async (...names: readonly string[]) => {
  for (const name of names) await container.getBlockBlobClient(name).upload('x', 1)
  return names.map((name) => container.getBlobClient(name))
}

const BOUNDARY = 'batch_357de4f7-6d0b-4e02-8cd2-6361411a9525'

type Part = { readonly line: string; readonly headers?: readonly string[] }

/** A batch as text; its parts have no credentials, so they can do only what anonymous clients can. */
function batchText(parts: readonly Part[], end = `--${BOUNDARY}--\r\n`): string {
  const texts = parts.map(({ line, headers = [] }, id) =>
    [
      `--${BOUNDARY}`,
      'Content-Type: application/http',
      'Content-Transfer-Encoding: binary',
      `Content-ID: ${id}`,
      '',
      `${line} HTTP/1.1`,
      ...headers,
      'Content-Length: 0',
      '',
      '',
    ].join('\r\n'),
  )
  return texts.join('') + end
}

const submit = (
  body: string,
  path = '/?comp=batch',
  contentType = `multipart/mixed; boundary=${BOUNDARY}`,
) => send('POST', path, { 'content-type': contentType }, body)

describe('a batch sent by the SDK', () => {
  test('deletes blobs and reports the outcome of each', async () => {
    const blobs = await put('a', 'b', 'c')
    const batch = service.getBlobBatchClient()
    const answer = await batch.deleteBlobs([...blobs, container.getBlobClient('missing')])
    assert.deepEqual(
      answer.subResponses.map(({ status, errorCode }) => [status, errorCode]),
      [
        [202, undefined],
        [202, undefined],
        [202, undefined],
        [404, 'BlobNotFound'],
      ],
    )
    assert.equal(answer.subResponsesSucceededCount, 3)
    for (const blob of blobs) assert.equal(await blob.exists(), false)
  })

  test('sets tiers', async () => {
    const blobs = await put('t1', 't2')
    const answer = await service.getBlobBatchClient().setBlobsAccessTier(blobs, 'Cool')
    assert.equal(answer.subResponsesFailedCount, 0)
    for (const blob of blobs) assert.equal((await blob.getProperties()).accessTier, 'Cool')
  })

  test('can be sent to a container', async () => {
    const blobs = await put('d1', 'd2')
    const answer = await container.getBlobBatchClient().deleteBlobs(blobs)
    assert.equal(answer.subResponsesSucceededCount, 2)
  })

  test('can have 256 parts', async () => {
    const names = Array.from({ length: 256 }, (_, i) => `many-${i}`)
    const blobs = await put(...names)
    const answer = await service.getBlobBatchClient().deleteBlobs(blobs)
    assert.equal(answer.subResponsesSucceededCount, 256)
  })
})

describe('a part', () => {
  test('is authorized separately', async () => {
    const [blob] = await put('kept')
    const readOnly = generateBlobSASQueryParameters(
      {
        containerName: 'box',
        permissions: ContainerSASPermissions.parse('r'),
        expiresOn: new Date(server.now() + 60_000),
      },
      credential,
    )
    const line = `DELETE /${ACCOUNT}/box/kept?${readOnly}`
    const answer = await submit(batchText([{ line }, { line: `DELETE /${ACCOUNT}/box/kept` }]))
    assert.equal(answer.status, 202)
    assert.match(
      answer.text,
      /HTTP\/1\.1 403 This request is not authorized [^]*AuthorizationPermissionMismatch/,
    )
    assert.match(
      answer.text,
      /HTTP\/1\.1 401 Server failed to authenticate [^]*NoAuthenticationInformation/,
    )
    assert.equal(await blob?.exists(), true)
  })

  test('keeps its Content-ID', async () => {
    const answer = await submit(batchText([{ line: `DELETE /${ACCOUNT}/box/nothing` }]))
    assert.match(answer.text, /Content-ID: 0\r\n/)
    assert.match(answer.headers['content-type'] ?? '', /^multipart\/mixed; boundary=batchresponse_/)
  })
})

describe('an invalid batch', () => {
  const del = { line: `DELETE /${ACCOUNT}/box/still` }
  const tier = { line: `PUT /${ACCOUNT}/box/still?comp=tier`, headers: ['x-ms-access-tier: Cool'] }
  const cases: readonly (readonly [string, () => ReturnType<typeof submit>, number, string])[] = [
    ['without parts', () => submit(batchText([])), 400, 'InvalidInput'],
    ['has 257 parts', () => submit(batchText(Array.from({ length: 257 }, () => del))), 400, 'ExceedsMaxBatchRequestCount'],
    ['with two kinds of operations', () => submit(batchText([del, tier])), 400, 'AllBatchSubRequestsShouldBeSameApi'],
    ['with another operation', () => submit(batchText([{ line: `PUT /${ACCOUNT}/box/still` }])), 400, 'InvalidInput'],
    ['without an end', () => submit(batchText([del], '')), 400, 'InvalidInput'],
    ['without a boundary', () => submit(batchText([del]), '/?comp=batch', 'multipart/mixed'), 400, 'InvalidHeaderValue'],
    ['for another container', () => submit(batchText([del]), '/other?restype=container&comp=batch'), 400, 'InvalidInput'],
    ['that is too long', () => submit('x'.repeat(4 * 1024 * 1024 + 1)), 413, 'RequestBodyTooLarge'],
  ] // prettier-ignore
  for (const [what, send, status, code] of cases) {
    test(`${what} is refused as a whole`, async () => {
      const [blob] = await put('still')
      const answer = await send()
      assert.deepEqual([answer.status, answer.headers['x-ms-error-code']], [status, code])
      assert.equal(await blob?.exists(), true)
    })
  }
})
