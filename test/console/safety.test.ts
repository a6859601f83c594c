// What the console shows never runs, it loads nothing from elsewhere, and only those who may see the data see it.
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, test } from 'node:test'
import { BlobServiceClient } from '@azure/storage-blob'
import { ACCOUNT, rawRequest } from '../harness.ts'
import { BROWSER_SKIP } from './browser.ts'
import { HOSTILE, nothingRan, onPage, rigOf, startRig, type Rig } from './fixture.ts'
import { startServer, type LazuliServer } from '../../src/server.ts'

const skip = BROWSER_SKIP
let rig: Rig

before(async () => {
  if (skip === false) rig = await startRig()
})
after(async () => {
  if (skip === false) await rig.close()
})

/** Sends hostile text wherever a request has room for it. */
async function sendHostileText(): Promise<void> {
  const { server, blobs, queues, shares, table } = rig
  const box = blobs.getContainerClient('box')
  await box.create({ metadata: { evil: HOSTILE } })
  const blob = box.getBlockBlobClient(HOSTILE)
  await blob.upload(HOSTILE, HOSTILE.length, {
    blobHTTPHeaders: { blobContentType: HOSTILE, blobContentDisposition: HOSTILE },
    metadata: { evil: HOSTILE },
  })
  const headers = {
    'User-Agent': HOSTILE,
    'x-lazuli-client': HOSTILE,
    'x-ms-client-request-id': HOSTILE,
    'If-Match': `"${HOSTILE}"`,
    'x-ms-blob-type': 'BlockBlob',
  }
  const path = `/box/${encodeURIComponent(HOSTILE)}`
  assert.equal((await rawRequest(server, { method: 'PUT', path, headers, body: 'x' })).status, 412)
  const lost = { ...headers, 'If-Match': '*' }
  for (const method of ['GET', 'PUT']) await rawRequest(server, { method, path, headers: lost })
  await blob.upload('theirs', 6)
  await rawRequest(server, { method: 'PUT', path, headers: lost })
  const acquire = { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '-1' }
  await rawRequest(server, { method: 'PUT', path: `${path}?comp=lease`, headers: { ...lost, ...acquire } }) // prettier-ignore
  const queue = queues.getQueueClient('queue')
  await queue.create({ metadata: { evil: HOSTILE } })
  await queue.sendMessage(HOSTILE)
  await table('things').createTable()
  await table('things').createEntity({ partitionKey: HOSTILE, rowKey: HOSTILE, text: HOSTILE })
  const share = shares.getShareClient('share')
  await share.create({ metadata: { evil: HOSTILE } })
  await share.rootDirectoryClient.getFileClient('onerror=alert(1)').create(1, {
    metadata: { evil: HOSTILE },
    fileHttpHeaders: { fileContentType: HOSTILE },
  })
  server.barriers.hold({ at: 'received', match: { path: `/box/${HOSTILE}`, client: HOSTILE } })
  server.faults.add({
    match: { client: HOSTILE, path: `/box/${HOSTILE}` },
    effect: { status: 500 },
  })
}

const RESOURCE = encodeURIComponent(`/${ACCOUNT}/box/${HOSTILE}`)
const ITEM = encodeURIComponent(HOSTILE)

const PLACES: readonly [path: string, shown: string][] = [
  ['journal', HOSTILE],
  ['journal?conflicts=true', HOSTILE],
  [`journal?text=${ITEM}`, HOSTILE],
  ['timeline', HOSTILE],
  [`timeline?resource=${RESOURCE}`, HOSTILE],
  ['races', HOSTILE],
  ['held', HOSTILE],
  ['control', HOSTILE],
  ['', HOSTILE],
  [`browse/blob/${ACCOUNT}/box?item=${ITEM}`, HOSTILE],
  [`browse/queue/${ACCOUNT}/queue`, HOSTILE],
  [`browse/table/${ACCOUNT}/things`, HOSTILE],
  [`browse/file/${ACCOUNT}/share?item=onerror%3Dalert(1)`, 'onerror=alert(1)'],
  [`browse/blob/${ITEM}/${ITEM}`, 'There is nothing here'],
  [`${ITEM}?${ITEM}`, 'There is no such page'],
]

test('hostile text in names, values and headers is text on every page', { skip }, async () => {
  await sendHostileText()
  await onPage(rig, '', async (page) => {
    for (const [path, shown] of PLACES) {
      await page.goto(`${rig.server.adminUrl}/#/${path}`)
      await page.getByText(shown).filter({ visible: true }).first().waitFor()
      await nothingRan(page)
    }
    await page.goto(`${rig.server.adminUrl}/#/journal?conflicts=true`)
    await page.locator('.table-rows a').first().click()
    await page.getByText(`user-agent: ${HOSTILE}`).waitFor()
    await nothingRan(page)
  })
})

test('the policy allows only the page’s own files, and no frame', { skip }, async () => {
  const answer = await fetch(`${rig.server.adminUrl}/`)
  const policy = (answer.headers.get('content-security-policy') ?? '').split('; ')
  for (const part of ["default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"])
    assert(policy.includes(part), part)
  assert(!policy.some((part) => /unsafe|\*|https?:/.test(part)), policy.join())
  assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
  for (const path of ['/console/', '/console/..%2fconsole.ts', '/console/page/%2e%2e/console.ts', '/console/console.ts'])
    assert.equal((await fetch(rig.server.adminUrl + path)).status, 404, path)
}) // prettier-ignore

/** Of a request with this header; fetch can't send all of them. */
function statusOf(path: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const { port } = new URL(rig.server.adminUrl ?? '')
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, headers }, (answer) => {
      answer.resume()
      resolve(answer.statusCode ?? 0)
    })
    sent.on('error', reject)
    sent.end()
  })
}

test('pages of other names and origins get nothing', { skip }, async () => {
  const host = new URL(rig.server.adminUrl ?? '').host
  for (const path of ['/', '/console/page/main.ts', '/api/overview'])
    assert.equal(await statusOf(path, { host: 'evil.example' }), 400, path)
  assert.equal(await statusOf('/api/overview', { host, origin: 'http://evil.example' }), 403)
  assert.equal(await statusOf('/api/overview', { host, 'sec-fetch-site': 'cross-site' }), 403)
  assert.equal(await statusOf('/api/overview', { host, origin: `http://${host}` }), 200)
})

const SECRET = Buffer.from('a key that nobody else has').toString('base64')

test('a server with a token asks for it; keys are shown only to those who ask', { skip }, async () => {
  const accounts = { private: SECRET }
  const own = await rigOf(await startServer({ adminPort: 0, controlToken: 'open-sesame-of-a-test', accounts }))
  try {
    await onPage(own, '', async (page) => {
      const dialog = page.getByRole('dialog', { name: 'This server asks for a token' })
      await dialog.getByLabel('Token').fill('wrong')
      await page.keyboard.press('Enter')
      await dialog.getByText('That was not the token of this server.').waitFor()
      assert.equal(await page.getByText('private').count(), 0)
      await dialog.getByLabel('Token').fill('open-sesame-of-a-test')
      await dialog.getByRole('button', { name: 'Continue' }).click()
      await page.getByText('Live', { exact: true }).waitFor()
      await page.getByText('private', { exact: true }).waitFor()
      assert(!(await page.content()).includes(SECRET))
      await page.getByRole('button', { name: 'Show keys' }).click()
      await page.getByText(SECRET).waitFor()
      // The token is known to this tab only, and also after it has been loaded again.
      await page.reload()
      await page.getByText('private', { exact: true }).waitFor()
    })
  } finally {
    await own.close()
  }
}) // prettier-ignore

test('without a journal, the other pages work, and the page says why', { skip }, async () => {
  const own = await rigOf(await startServer({ adminPort: 0, journal: false }))
  try {
    await own.blobs.createContainer('plain')
    await onPage(own, 'journal', async (page) => {
      await page.getByText('This server keeps no journal').waitFor()
      await page.getByText('Live', { exact: true }).waitFor()
      await page.getByRole('link', { name: 'Browse' }).click()
      await page.getByRole('link', { name: 'plain' }).waitFor()
      await page.getByRole('link', { name: 'Control' }).click()
      await page.getByText('running').waitFor()
    })
  } finally {
    await own.close()
  }
})

test('the server is started again under the page: it says so, and goes on', { skip }, async () => {
  const first = await startServer({ adminPort: 0 })
  const own = await rigOf(first)
  const adminPort = Number(new URL(first.adminUrl ?? '').port)
  await own.blobs.createContainer('before')
  let second: LazuliServer | undefined
  try {
    await onPage(own, 'journal', async (page) => {
      const status = page.getByRole('banner').getByRole('status')
      await page.getByRole('cell', { name: 'before', exact: true }).waitFor()
      await first.close()
      await status.getByText('Disconnected, trying again').waitFor()
      await page.getByRole('cell', { name: 'before', exact: true }).waitFor()
      second = await startServer({ adminPort })
      await status.getByText('Live', { exact: true }).waitFor()
      await page.getByText('No requests yet').waitFor()
      await BlobServiceClient.fromConnectionString(second.connectionString).createContainer('after')
      await page.getByRole('cell', { name: 'after', exact: true }).waitFor()
      assert.equal(await page.getByRole('cell', { name: 'before', exact: true }).count(), 0)
    })
  } finally {
    await second?.close()
    await own.browser.close()
  }
})
