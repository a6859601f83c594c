// Tables in the page Browse: the grid, the editor, and the race that it loses.
import assert from 'node:assert/strict'
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

async function tableOf(name: string) {
  const client = rig.table(name)
  await client.createTable()
  return client
}

test('a table is created and deleted', { skip }, () =>
  inBrowse(rig, `table/${ACCOUNT}`, async (page) => {
    await page.getByRole('button', { name: 'Create table' }).first().click()
    await page.getByLabel('Name', { exact: true }).fill('made')
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByText('The table is empty').waitFor()
    await page.getByRole('link', { name: 'Tables' }).first().click()
    await page.getByRole('button', { name: 'Delete the table made' }).click()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('link', { name: 'made' }).waitFor({ state: 'detached' })
  }),
)

test('every type has its column, a filter filters, and values are text', { skip }, async () => {
  const client = await tableOf('typed')
  await client.createEntity({
    partitionKey: 'p', rowKey: "it's", text: HOSTILE, whole: 7, long: { type: 'Int64', value: '9007199254740993' },
    part: { type: 'Double', value: '1.5' }, flag: true, at: new Date('2026-01-02T03:04:05.678Z'),
    id: { type: 'Guid', value: 'c9da6455-213d-42c9-9a79-3e9149a57833' }, raw: new Uint8Array([1, 2, 3]),
  }) // prettier-ignore
  await client.createEntity({ partitionKey: 'p', rowKey: 'other', whole: 'text here' })
  await inBrowse(
    rig,
    placeOf('table', 'typed'),
    async (page) => {
      for (const title of [
        'text (String)', 'long (Int64)', 'part (Double)', 'flag (Boolean)', 'at (DateTime)', 'id (Guid)', 'raw (Binary)',
      ]) await page.getByRole('columnheader', { name: title }).waitFor() // prettier-ignore
      await page
        .getByRole('columnheader', { name: /^whole \((Int32 or String|String or Int32)\)$/ })
        .waitFor()
      await page.getByRole('cell', { name: '9007199254740993' }).waitFor()
      await page.getByRole('cell', { name: HOSTILE }).waitFor()
      await page.getByLabel('Filter').fill('whole eq 7')
      await page.getByRole('button', { name: 'Filter' }).click()
      await page.getByText('1 entity').waitFor()
      await page.getByLabel('Filter').fill('whole ey 7')
      await page.getByRole('button', { name: 'Filter' }).click()
      await page.getByRole('alert').filter({ hasText: 'InvalidInput' }).waitFor()
      await page.getByLabel('Filter').fill('')
      await page.getByRole('button', { name: 'Filter' }).click()
      await page.getByText('2 entities').waitFor()
      await page.getByRole('button', { name: "Edit p it's" }).click()
      await page.getByLabel('Value of whole').fill('8')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await nothingRan(page)
    },
    { width: 2400 },
  )
  const entity = await client.getEntity('p', "it's", { disableTypeConversion: true })
  assert.deepEqual(
    [entity.whole, entity.long, entity.text].map((value) => JSON.parse(JSON.stringify(value))),
    [8, { value: '9007199254740993', type: 'Int64' }, HOSTILE].map((value, at) =>
      at === 0
        ? { value: '8', type: 'Int32' }
        : at === 2
          ? { value: HOSTILE, type: 'String' }
          : value,
    ),
  )
})

test('an entity is inserted, and a delete is undone', { skip }, async () => {
  const client = await tableOf('inserts')
  await inBrowse(rig, placeOf('table', 'inserts'), async (page) => {
    await page.getByRole('button', { name: 'Insert an entity' }).first().click()
    await page.getByLabel('PartitionKey').fill('p')
    await page.getByLabel('RowKey').fill('r')
    await page.getByRole('button', { name: 'Add a property' }).click()
    await page.getByLabel('Property 1: name').fill('count')
    await page.getByLabel('Type of count').selectOption('Int64')
    await page.getByLabel('Value of count').fill('12345678901')
    await page.getByRole('button', { name: 'Insert', exact: true }).click()
    await page.getByRole('cell', { name: '12345678901' }).waitFor()
    assert.equal((await client.getEntity('p', 'r')).count, 12345678901n)
    await page.getByRole('button', { name: 'Edit p r' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('The table is empty').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('cell', { name: '12345678901' }).waitFor()
    assert.equal((await client.getEntity('p', 'r')).count, 12345678901n)
  })
})

/** Opens the editor, lets another client write, and saves: the page has lost. */
async function lose(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Edit p r' }).click()
  await page.getByLabel('Value of mine').fill('here')
  await rig
    .table(name)
    .updateEntity({ partitionKey: 'p', rowKey: 'r', theirs: 'there', both: 'theirs' }, 'Merge', {
      requestOptions: { customHeaders: { 'x-lazuli-client': 'worker' } },
    })
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  const dialog = page.getByRole('dialog', { name: 'Somebody else was faster' })
  await dialog.getByText('worker').waitFor()
  await dialog.getByRole('row', { name: /^mine .*here/ }).waitFor()
  await dialog.getByRole('row', { name: /^theirs .*there/ }).waitFor()
}

const OUTCOMES: readonly [button: string, table: string, mine: string, theirs: string][] = [
  ['Merge: theirs, with my changes', 'merges', 'here', 'there'],
  ['Overwrite theirs', 'overwrites', 'here', 'before'],
]

for (const [button, name, mine, theirs] of OUTCOMES) {
  test(`a lost race shows both versions: ${button}`, { skip }, async () => {
    const client = await tableOf(name)
    await client.createEntity({
      partitionKey: 'p',
      rowKey: 'r',
      mine: 'before',
      theirs: 'before',
      both: '0',
    })
    await inBrowse(rig, placeOf('table', name), async (page) => {
      await lose(page, name)
      assert.equal((await client.getEntity('p', 'r')).mine, 'before')
      await page.getByRole('button', { name: button }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      const entity = await client.getEntity('p', 'r')
      assert.deepEqual([entity.mine, entity.theirs], [mine, theirs])
    })
  })
}

test('a lost race: theirs is taken, and edited again', { skip }, async () => {
  const client = await tableOf('takes')
  await client.createEntity({
    partitionKey: 'p',
    rowKey: 'r',
    mine: 'before',
    theirs: 'before',
    both: '0',
  })
  await inBrowse(rig, placeOf('table', 'takes'), async (page) => {
    await lose(page, 'takes')
    await page.getByRole('button', { name: 'Take theirs' }).click()
    assert.equal(await page.getByLabel('Value of mine').inputValue(), 'before')
    assert.equal(await page.getByLabel('Value of theirs').inputValue(), 'there')
    await page.getByLabel('Value of mine').fill('second')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const entity = await client.getEntity('p', 'r')
    assert.deepEqual([entity.mine, entity.theirs], ['second', 'there'])
  })
})

test('a lost race with a delete: the entity is inserted again', { skip }, async () => {
  const client = await tableOf('deleted')
  await client.createEntity({ partitionKey: 'p', rowKey: 'r', mine: 'before' })
  await inBrowse(rig, placeOf('table', 'deleted'), async (page) => {
    await page.getByRole('button', { name: 'Edit p r' }).click()
    await page.getByLabel('Value of mine').fill('here')
    await client.deleteEntity('p', 'r')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByText('the entity was deleted').waitFor()
    await page.getByRole('button', { name: 'Insert it again' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    assert.equal((await client.getEntity('p', 'r')).mine, 'here')
  })
})
