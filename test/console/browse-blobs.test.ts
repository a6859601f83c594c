// Blobs in the page Browse: lists, previews, uploads, deletes.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { ACCOUNT } from '../harness.ts'
import { BROWSER_SKIP } from './browser.ts'
import { HOSTILE, inBrowse, nothingRan, placeOf, startRig, type Rig } from './fixture.ts'

const skip = BROWSER_SKIP
let rig: Rig

before(async () => {
  if (skip === false) rig = await startRig()
})
after(async () => {
  if (skip === false) await rig.close()
})

async function put(container: string, name: string, body: string | Buffer, type = 'text/plain') {
  const client = rig.blobs.getContainerClient(container)
  await client.createIfNotExists()
  await client.getBlockBlobClient(name).upload(body, Buffer.byteLength(body), {
    blobHTTPHeaders: { blobContentType: type },
  })
  return client.getBlockBlobClient(name)
}

const details = (page: Page) => page.locator('section.details')

test(
  'a container is created and deleted, and one made by a client appears by itself',
  { skip },
  () =>
    inBrowse(rig, `blob/${ACCOUNT}`, async (page) => {
      await page.getByRole('button', { name: 'Create container' }).first().click()
      await page.getByLabel('Name', { exact: true }).fill('Not Valid')
      await page.getByRole('button', { name: 'Create', exact: true }).click()
      await page.getByRole('alert').filter({ hasText: 'InvalidResourceName' }).waitFor()
      await page.getByLabel('Name', { exact: true }).fill('made-here')
      await page.getByRole('button', { name: 'Create', exact: true }).click()
      await page.getByText('There is nothing here yet').waitFor()
      await page.getByRole('link', { name: 'Blobs', exact: true }).first().click()
      await page.getByRole('link', { name: 'made-here' }).waitFor()
      await rig.blobs.getContainerClient('made-by-a-client').create()
      await page.getByRole('link', { name: 'made-by-a-client' }).waitFor()
      await page.getByRole('button', { name: 'Delete the container made-here' }).click()
      await page.getByRole('button', { name: 'Delete', exact: true }).click()
      await page.getByRole('link', { name: 'made-here' }).waitFor({ state: 'detached' })
      assert.equal(await rig.blobs.getContainerClient('made-here').exists(), false)
    }),
)

test('folders, a filter, and blobs that appear while the page is open', { skip }, async () => {
  await put('tree', 'readme.txt', 'hello')
  await put('tree', 'a/b/deep.txt', 'deep')
  await inBrowse(rig, placeOf('blob', 'tree'), async (page) => {
    await page.getByRole('link', { name: 'readme.txt' }).waitFor()
    await put('tree', 'later.txt', 'later')
    await page.getByRole('link', { name: 'later.txt' }).waitFor()
    await page.getByRole('link', { name: 'a/' }).click()
    await page.getByRole('link', { name: 'b/' }).click()
    await page.getByRole('link', { name: 'deep.txt' }).click()
    await details(page).getByText('deep', { exact: true }).waitFor()
    await page.getByRole('navigation', { name: 'Where you are' }).getByText('tree').click()
    await page.getByPlaceholder('Names that begin with').fill('la')
    await page.getByRole('link', { name: 'readme.txt' }).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'later.txt' }).waitFor()
  })
})

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const RUNS = '<script>globalThis.ran=1;parent.ran=1</script>'

const PREVIEWS: readonly [name: string, body: string | Buffer, type: string, shown: string][] = [
  ['p.json', '{"n":12345678901234567890,"a":[]}', 'application/json', '"n": 12345678901234567890'],
  ['p.csv', 'name,age\n"Lovelace, Ada",36\n', 'text/csv', 'Lovelace, Ada'],
  ['p.html', `<h1>Hi</h1>${RUNS}`, 'text/html', `<h1>Hi</h1>${RUNS}`],
  ['p.svg', `<svg xmlns="http://www.w3.org/2000/svg" onload="globalThis.ran=1">${RUNS}</svg>`, 'image/svg+xml', '<svg xmlns'],
  ['p.bin', Buffer.from([0, 1, 2, 255, 65]), 'application/octet-stream', '00 01 02 ff 41'],
  ['p.txt', `text ${HOSTILE}`, 'text/plain', `text ${HOSTILE}`],
] // prettier-ignore

test('every kind of content has its preview, and none of it runs', { skip }, async () => {
  for (const [name, body, type] of PREVIEWS) await put('kinds', name, body, type)
  await put('kinds', 'p.png', PNG, 'image/png')
  await put('kinds', 'empty', '', 'text/plain')
  await inBrowse(rig, placeOf('blob', 'kinds'), async (page) => {
    for (const [name, , , shown] of PREVIEWS) {
      await page.getByRole('link', { name }).click()
      await details(page).locator('.preview').filter({ hasText: shown }).waitFor()
    }
    await page.getByRole('link', { name: 'p.png' }).click()
    const image = details(page).getByRole('img', { name: 'The picture p.png' })
    await image.waitFor()
    const width = `document.querySelector('.preview-image').decode().then(() => document.querySelector('.preview-image').naturalWidth)`
    assert.equal(await page.evaluate(width), 1)
    await page.getByRole('link', { name: 'empty' }).click()
    await details(page).getByText('It is empty.').waitFor()
    await nothingRan(page)
  })
})

test('a stored page that is opened by its address is saved, not run', { skip }, async () => {
  await put('opened', 'page.html', RUNS, 'text/html')
  await inBrowse(rig, placeOf('blob', 'opened'), async (page) => {
    await page.getByRole('link', { name: 'page.html' }).waitFor()
    const saved = page.waitForEvent('download')
    // The browser ends the navigation, because nothing is to be shown.
    await page
      .goto(`${rig.server.adminUrl}/api/storage/blob/${ACCOUNT}/opened/page.html`)
      .catch(() => undefined)
    assert.equal((await saved).suggestedFilename(), 'page.html')
    await nothingRan(page)
    const framed = await page.evaluate(
      `new Promise((resolve) => {
        const frame = document.createElement('iframe')
        frame.src = '/api/storage/blob/${ACCOUNT}/opened/page.html'
        addEventListener('securitypolicyviolation', () => resolve('refused'))
        frame.addEventListener('load', () => resolve('loaded'))
        document.body.append(frame)
      })`,
    )
    assert.equal(framed, 'refused')
    await nothingRan(page)
  }).catch((error: unknown) => {
    // The refusal itself is in the log of the page, as it should be.
    if (!/frame-src|Framing/.test(String(error))) throw error
  })
})

test('hostile names and metadata are shown as text', { skip }, async () => {
  const blob = await put('hostile', `${HOSTILE}.txt`, HOSTILE)
  await blob.setMetadata({ evil: HOSTILE })
  await rig.blobs.getContainerClient('hostile').setMetadata({ evil: HOSTILE })
  await inBrowse(rig, placeOf('blob', 'hostile'), async (page) => {
    await page.getByRole('link', { name: HOSTILE }).click()
    await details(page).locator('pre').filter({ hasText: HOSTILE }).waitFor()
    await page.getByRole('tab', { name: 'Metadata' }).click()
    assert.equal(await page.getByLabel('Metadata 1: value').inputValue(), HOSTILE)
    await page.getByRole('button', { name: 'Properties of the container' }).click()
    const dialog = page.getByRole('dialog')
    assert.equal(await dialog.getByLabel('Metadata 1: value').inputValue(), HOSTILE)
    await nothingRan(page)
  })
})

test('metadata and tags are changed; a stale change is refused', { skip }, async () => {
  const blob = await put('editing', 'b', 'x')
  await inBrowse(rig, `${placeOf('blob', 'editing')}?item=b`, async (page) => {
    await page.getByRole('tab', { name: 'Metadata' }).click()
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByLabel('Metadata 1: name').fill('owner')
    await page.getByLabel('Metadata 1: value').fill('Ada')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Saved').first().waitFor()
    assert.deepEqual((await blob.getProperties()).metadata, { owner: 'Ada' })
    await page.getByRole('tab', { name: 'Tags' }).click()
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByLabel('Tags 1: name').fill('stage')
    await page.getByLabel('Tags 1: value').fill('draft')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.locator('.form-end button:disabled').waitFor()
    assert.deepEqual((await blob.getTags()).tags, { stage: 'draft' })
  })
})

const LONG = Buffer.alloc(9 * 1024 * 1024, 'lazuli ')

test(
  'a file is uploaded in blocks, and overwrites only if somebody says so',
  { skip },
  async () => {
    await rig.blobs.getContainerClient('uploads').createIfNotExists()
    await inBrowse(rig, placeOf('blob', 'uploads'), async (page) => {
      const file = { name: 'long.bin', mimeType: 'application/x-long', buffer: LONG }
      // While a block waits, the page shows what has been sent of the others.
      const barrier = rig.server.barriers.hold({
        at: 'received',
        match: { operation: 'Put Block' },
        count: 1,
      })
      await page.getByLabel('Files to upload').setInputFiles(file)
      await barrier.held(1)
      await page.getByText(/^(5|8|9)(\.\d)? MiB of 9 MiB/).waitFor()
      assert.equal(await page.locator('progress').getAttribute('max'), String(LONG.length))
      await barrier.release()
      await page.getByText('Uploaded, 9 MiB').waitFor()
      const blob = rig.blobs.getContainerClient('uploads').getBlockBlobClient('long.bin')
      const { committedBlocks } = await blob.getBlockList('committed')
      assert.equal(committedBlocks?.length, 3)
      assert((await blob.downloadToBuffer()).equals(LONG))
      assert.equal((await blob.getProperties()).contentType, 'application/x-long')
      await page.getByRole('link', { name: 'long.bin' }).waitFor()

      await page
        .getByLabel('Files to upload')
        .setInputFiles({ ...file, buffer: Buffer.from('short') })
      await page.getByText('There is one with this name already.').waitFor()
      assert.equal((await blob.getProperties()).contentLength, LONG.length)
      await page.getByRole('button', { name: 'Overwrite' }).click()
      await page.getByText('Uploaded, 5 bytes').waitFor()
      assert.equal((await blob.downloadToBuffer()).toString(), 'short')
    })
  },
)

test('a dropped file is uploaded into the folder that is shown', { skip }, async () => {
  await put('drops', 'in/first', 'x')
  await inBrowse(rig, `${placeOf('blob', 'drops')}?prefix=in/`, async (page) => {
    await page.getByRole('link', { name: 'first' }).waitFor()
    await page.evaluate(`{
      const dataTransfer = new DataTransfer()
      dataTransfer.items.add(new File(['dropped'], 'second.txt', { type: 'text/plain' }))
      const zone = document.querySelector('.drop-zone')
      zone.dispatchEvent(new DragEvent('dragover', { dataTransfer, bubbles: true }))
      zone.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true }))
    }`)
    await page.getByText('Uploaded, 7 bytes').waitFor()
    const blob = rig.blobs.getContainerClient('drops').getBlobClient('in/second.txt')
    assert.equal((await blob.downloadToBuffer()).toString(), 'dropped')
  })
})

test('a download has the bytes and the name', { skip }, async () => {
  await put('downloads', 'a/file.txt', 'saved')
  await inBrowse(rig, `${placeOf('blob', 'downloads')}?prefix=a/&item=a/file.txt`, async (page) => {
    const saving = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download' }).click()
    const saved = await saving
    assert.equal(saved.suggestedFilename(), 'file.txt')
    assert.equal(await readFile(await saved.path(), 'utf8'), 'saved')
  })
})

test('a delete says that it is final; with soft delete, it is undone', { skip }, async () => {
  const blob = await put('deletes', 'b.txt', 'precious')
  const openDelete = async (page: Page) => {
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    return page.getByRole('dialog')
  }
  const path = `${placeOf('blob', 'deletes')}?item=b.txt`
  await inBrowse(rig, path, async (page) => {
    const dialog = await openDelete(page)
    await dialog.getByText('Soft delete is off: this can’t be undone.').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
  })
  await rig.blobs.setProperties({ deleteRetentionPolicy: { enabled: true, days: 3 } })
  try {
    await inBrowse(rig, path, async (page) => {
      const dialog = await openDelete(page)
      await dialog.getByText('it can be restored for 3 days').waitFor()
      await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
      await page.getByText('Deleted b.txt').waitFor()
      assert.equal(await blob.exists(), false)
      await page.getByRole('button', { name: 'Undo' }).click()
      await details(page).getByText('precious').waitFor()
      assert.equal((await blob.downloadToBuffer()).toString(), 'precious')
      await blob.delete()
      await details(page).getByRole('button', { name: 'Restore' }).click()
      await details(page).getByText('precious').waitFor()
    })
  } finally {
    await rig.blobs.setProperties({ deleteRetentionPolicy: { enabled: false } })
  }
})

test(
  'snapshots are made, seen and brought back; a lease is taken and broken',
  { skip },
  async () => {
    const blob = await put('past', 'b', 'old')
    await inBrowse(rig, `${placeOf('blob', 'past')}?item=b`, async (page) => {
      await page.getByRole('button', { name: 'Snapshot' }).click()
      await page.getByText('A snapshot was made').waitFor()
      await blob.upload('new!', 4)
      await details(page).locator('pre').filter({ hasText: 'new!' }).waitFor()
      await page.getByRole('tab', { name: 'Earlier' }).click()
      await page.getByRole('button', { name: 'View' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.locator('pre').filter({ hasText: 'old' }).waitFor()
      await dialog.getByRole('button', { name: 'Close' }).click()
      await page.getByRole('button', { name: 'Make this the content of the blob' }).click()
      await page.getByText('Brought back').waitFor()
      assert.equal((await blob.downloadToBuffer()).toString(), 'old')
      await page.getByRole('tab', { name: 'Lease' }).click()
      await page.getByRole('button', { name: 'Acquire' }).click()
      await page.getByText('Ends in').waitFor()
      assert.equal((await blob.getProperties()).leaseState, 'leased')
      await page.getByRole('button', { name: 'Break' }).click()
      await page.getByRole('button', { name: 'Acquire' }).waitFor()
      assert.equal((await blob.getProperties()).leaseState, 'broken')
    })
  },
)

test('the copied SAS opens the blob, and nothing else', { skip }, async () => {
  await put('sas', 'b', 'shared')
  await inBrowse(rig, `${placeOf('blob', 'sas')}?item=b`, async (page) => {
    await page.getByRole('button', { name: 'SAS' }).click()
    await page.getByRole('button', { name: 'Make the URL' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Copy the URL' }).click()
    await page.getByText('Copied').waitFor()
    const url = String(await page.evaluate('navigator.clipboard.readText()'))
    assert.equal(await (await fetch(url)).text(), 'shared')
    assert.equal((await fetch(url, { method: 'DELETE' })).status, 403)
  })
})

test('a service error is shown with its code', { skip }, () =>
  inBrowse(rig, placeOf('blob', 'missing'), async (page) => {
    await page.getByRole('alert').filter({ hasText: 'ContainerNotFound' }).waitFor()
  }),
)
