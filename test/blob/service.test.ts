// Operations on the account: service properties, statistics of the secondary, account information.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ACCOUNT, rawRequest, xmlText } from '../harness.ts'
import { startBlobFixture } from './fixture.ts'

const { server, service, send } = await startBlobFixture({ container: 'existing' })

const PROPERTIES = '/?restype=service&comp=properties'

describe('service properties', () => {
  test('are returned as set and kept if left out', async () => {
    const cors = {
      allowedOrigins: 'https://example.org',
      allowedMethods: 'GET,PUT',
      allowedHeaders: 'x-ms-*',
      exposedHeaders: 'x-ms-meta-*',
      maxAgeInSeconds: 60,
    }
    await service.setProperties({ cors: [cors] })
    await service.setProperties({ defaultServiceVersion: '2021-12-02' })
    const got = await service.getProperties()
    assert.deepEqual(got.cors, [cors])
    assert.equal(got.defaultServiceVersion, '2021-12-02')
    const anonymous = await send('GET', '/box/b', { 'x-ms-version': '' }, undefined, 'none')
    assert.equal(anonymous.headers['x-ms-version'], '2021-12-02')
    await service.setProperties({ cors: [] })
    assert.deepEqual((await service.getProperties()).cors ?? [], [])
  })

  test('are set with 202 and no body', async () => {
    const body = '<StorageServiceProperties />'
    const { status, text } = await send('PUT', PROPERTIES, {}, body)
    assert.deepEqual([status, text], [202, ''])
  })

  const rule =
    '<CorsRule><AllowedOrigins>*</AllowedOrigins><AllowedMethods>GET</AllowedMethods>' +
    '<AllowedHeaders>*</AllowedHeaders><ExposedHeaders>*</ExposedHeaders>' +
    '<MaxAgeInSeconds>1</MaxAgeInSeconds></CorsRule>'
  const retention = (days: number) =>
    `<DeleteRetentionPolicy><Enabled>true</Enabled><Days>${days}</Days></DeleteRetentionPolicy>`
  const REFUSED: Readonly<Record<string, string>> = {
    'not XML': 'x',
    'six CORS rules': `<Cors>${rule.repeat(6)}</Cors>`,
    'a CORS rule without methods': `<Cors>${rule.replace(/<AllowedMethods>.*?Methods>/, '')}</Cors>`,
    'zero days': retention(0),
    '366 days': retention(366),
    'incomplete logging': '<Logging><Version>1.0</Version></Logging>',
  }
  for (const [name, inner] of Object.entries(REFUSED)) {
    test(`${name} → 400, and nothing changes`, async () => {
      const before = await send('GET', PROPERTIES)
      const body = `<StorageServiceProperties>${inner}</StorageServiceProperties>`
      const set = { method: 'PUT', path: PROPERTIES, body: name === 'not XML' ? inner : body }
      assert.equal((await rawRequest(server, set)).status, 400)
      const now = await send('GET', PROPERTIES)
      assert.equal(now.text, before.text)
    })
  }
})

describe('the secondary endpoint', () => {
  const secondary = (method: string, path: string, headers = {}) =>
    rawRequest(server, {
      method,
      path: `/${ACCOUNT}-secondary${path}`,
      wholePath: true,
      headers,
    })

  test('has statistics, unlike the primary', async () => {
    const stats = '/?restype=service&comp=stats'
    const got = await secondary('GET', stats)
    assert.equal(got.status, 200)
    assert.equal(xmlText(got.text, 'Status'), 'live')
    const lastSync = xmlText(got.text, 'LastSyncTime')
    assert.equal(lastSync, new Date(server.now()).toUTCString())
    const primary = await send('GET', stats)
    assert.equal(primary.status, 400)
    assert.equal(primary.headers['x-ms-error-code'], 'InvalidQueryParameterValue')
  })

  test('reads the data of the primary and refuses writes', async () => {
    await service.createContainer('both')
    assert.equal((await secondary('GET', '/both?restype=container')).status, 200)
    const put = await secondary('PUT', '/both/b', { 'x-ms-blob-type': 'BlockBlob' })
    assert.equal(put.status, 403)
    assert.equal((await secondary('DELETE', '/both?restype=container')).status, 403)
    assert.equal((await secondary('GET', '/both?restype=container')).status, 200)
  })
})

test('account information is available for the account, a container and a blob', async () => {
  for (const path of ['/', '/box', '/box/b']) {
    for (const method of ['GET', 'HEAD']) {
      const query = '?restype=account&comp=properties'
      const { status, headers } = await send(method, path + query)
      assert.equal(status, 200)
      assert.equal(headers['x-ms-sku-name'], 'Standard_RAGRS')
      assert.equal(headers['x-ms-account-kind'], 'StorageV2')
      assert.equal(headers['x-ms-is-hns-enabled'], 'false')
    }
  }
  assert.equal((await service.getAccountInfo()).skuName, 'Standard_RAGRS')
})
