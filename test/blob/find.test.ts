// Find Blobs by Tags, in an account and in a container: filters, results and pages. A blob is found as soon as its write
// is answered, and no longer once the blob or its tag is gone.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  AccountSASPermissions,
  ContainerSASPermissions,
  type ContainerClient,
} from '@azure/storage-blob'
import { outcome, xmlText, xmlTexts } from '../harness.ts'
import { startBlobFixture } from './fixture.ts'

const fixture = await startBlobFixture({ container: 'fruit' })
const { server, service, container: fruit, send } = fixture
const stone = service.getContainerClient('stone')

await stone.create()
await put(fruit, 'apple', { color: 'green', weight: '0150' })
await put(fruit, 'cherry', { color: 'red', weight: '0008' })
await put(fruit, 'plum', { color: 'blue', weight: '0040', 'good for': 'jam' })
await put(fruit, 'pear', {})
await put(stone, 'lazuli', { color: 'blue', weight: '0400' })
await put(stone, 'ruby', { color: 'red', weight: '0004' })

async function put(container: ContainerClient, name: string, tags: Record<string, string>) {
  await container.getBlockBlobClient(name).upload(name, name.length, { tags })
}

type Found = {
  readonly outcome: string
  readonly text: string
  readonly blobs: string[]
  readonly next: string
}

/** Sends the filter and other query parameters, to a container if one is given. */
async function find(where: string, more = '', container = '', sign?: string): Promise<Found> {
  const scope = container === '' ? '/?comp=blobs' : `/${container}?restype=container&comp=blobs`
  const path = `${scope}&where=${encodeURIComponent(where)}${more}`
  const answer = await send('GET', path, {}, undefined, sign)
  const { text } = answer
  const containers = xmlTexts(text, 'ContainerName')
  const blobs = xmlTexts(text, 'Name').map((name, i) => `${containers[i] ?? ''}/${name}`)
  return { outcome: outcome(answer), text, blobs, next: xmlText(text, 'NextMarker') ?? '' }
}

describe('a search finds', () => {
  const FILTERS: readonly (readonly [where: string, ...blobs: string[]])[] = [
    ["color = 'red'", 'fruit/cherry', 'stone/ruby'],
    ['"color"=\'red\'', 'fruit/cherry', 'stone/ruby'],
    ["color = 'Red'"],
    ["Color = 'red'"],
    ['"good for" = \'jam\'', 'fruit/plum'],
    ["color = 'red' AND weight = '0008'", 'fruit/cherry'],
    ["color = 'red' and weight = '0009'"],
    ["weight > '0040'", 'fruit/apple', 'stone/lazuli'],
    ["weight >= '0040'", 'fruit/plum', 'fruit/apple', 'stone/lazuli'],
    ["weight < '0008'", 'stone/ruby'],
    ["weight <= '0008'", 'stone/ruby', 'fruit/cherry'],
    ["weight > '0004' AND weight < '0150'", 'fruit/cherry', 'fruit/plum'],
    ["weight >= '0004' AND weight <= '0150' AND color = 'green'", 'fruit/apple'],
    ["@container = 'stone' AND color = 'red'", 'stone/ruby'],
    ["color >= 'a' AND @container = 'stone'", 'stone/lazuli', 'stone/ruby'],
    ["@container = 'nobox' AND color = 'red'"],
    ["none = 'x'"],
  ]
  for (const [where, ...blobs] of FILTERS) {
    test(`${where} → ${blobs.length === 0 ? 'nothing' : blobs.join(', ')}`, async () => {
      const found = await find(where)
      assert.deepEqual([found.outcome, found.blobs, found.next], ['200', blobs, ''])
    })
  }

  test('only blobs of the container if one is given', async () => {
    assert.deepEqual((await find("color = 'red'", '', 'fruit')).blobs, ['fruit/cherry'])
    assert.deepEqual((await find("color >= 'a'", '', 'stone')).blobs, [
      'stone/lazuli',
      'stone/ruby',
    ])
  })

  test('each blob with only the tags of the filter', async () => {
    const { text } = await find("color = 'blue' AND \"good for\" = 'jam'")
    const tag = (name: string, value: string) =>
      `<Tag><Key>${name}</Key><Value>${value}</Value></Tag>`
    const tags = `<Tags><TagSet>${tag('color', 'blue')}${tag('good for', 'jam')}</TagSet></Tags>`
    assert.ok(text.includes(tags), text)
    assert.ok(!text.includes('weight'))
  })

  test('its blobs as XML with the endpoint and the filter', async () => {
    const path = `/?comp=blobs&where=${encodeURIComponent("color = 'green'")}`
    const { headers, text } = await send('GET', path)
    assert.equal(headers['content-type'], 'application/xml')
    const endpoint = `${server.blobEndpoint}/`
    assert.ok(text.includes(`<EnumerationResults ServiceEndpoint="${endpoint}">`), text)
    assert.equal(xmlText(text, 'Where'), "color = 'green'")
    assert.ok(text.includes('<NextMarker />') || text.includes('<NextMarker></NextMarker>'))
    const old = await send('GET', path, { 'x-ms-version': '2019-12-12' })
    assert.equal(xmlText(old.text, 'TagValue'), 'green')
    assert.ok(!old.text.includes('<Tags>'))
  })
})

describe('an invalid search', () => {
  const INVALID = '400 InvalidQueryParameterValue'
  const FILTERS: readonly string[] = [
    '',
    'color',
    "color = 'red' OR color = 'blue'",
    "color <> 'red'",
    "color = 'red' AND color = 'blue'",
    "(color = 'red')",
    'color = red',
    "@container = 'stone'",
    "@container > 'stone' AND color = 'red'",
    "@blob = 'x' AND color = 'red'",
    "color = 'a,b'",
    `color = '${'v'.repeat(257)}'`,
    Array.from({ length: 11 }, (_, i) => `t${i} = '1'`).join(' AND '),
  ]
  for (const where of FILTERS) {
    test(`where ${where.slice(0, 60)} → 400`, async () => {
      const { outcome: actual, text } = await find(where)
      assert.equal(actual, INVALID)
      assert.equal(xmlText(text, 'QueryParameterName'), 'where')
    })
  }

  test('with a container in both filter and path', async () => {
    const { outcome: actual } = await find("@container = 'fruit' AND color = 'red'", '', 'fruit')
    assert.equal(actual, INVALID)
  })

  test('without a filter, in a missing container, or with an invalid page size or marker', async () => {
    assert.equal(outcome(await send('GET', '/?comp=blobs')), '400 MissingRequiredQueryParameter')
    const red = "color = 'red'"
    assert.equal((await find(red, '', 'nobox')).outcome, '404 ContainerNotFound')
    const RANGE = '400 OutOfRangeQueryParameterValue'
    for (const [more, expected] of [
      ['&maxresults=0', RANGE],
      ['&maxresults=-1', RANGE],
      ['&maxresults=some', INVALID],
      ['&maxresults=9999', '200'],
      ['&marker=here', INVALID],
      [`&marker=${Buffer.from('["red",1]').toString('base64url')}`, INVALID],
      ['&marker=', '200'],
    ] as const) {
      assert.equal((await find(red, more)).outcome, expected, more)
    }
  })
})

describe('a search in pages', () => {
  for (const where of ["page = 'one'", "page >= 'a'", "page = 'one' AND odd = 'yes'"]) {
    test(`${where}: finds each blob once while others are added and deleted`, async () => {
      const container = service.getContainerClient(
        `pages-${Buffer.from(where).toString('hex').slice(-12)}`,
      )
      await container.create()
      const names = Array.from({ length: 25 }, (_, i) => `b${String(i).padStart(2, '0')}`)
      const tags = (i: number) => ({ page: 'one', odd: i % 2 === 1 ? 'yes' : 'no' })
      await Promise.all(names.map((name, i) => put(container, name, tags(i))))
      const found: string[] = []
      let marker = ''
      do {
        const page = await find(
          where,
          `&maxresults=4${marker && `&marker=${marker}`}`,
          container.containerName,
        )
        assert.ok(page.blobs.length <= 4)
        found.push(...page.blobs.map((blob) => blob.split('/')[1] ?? ''))
        marker = page.next
        // Before the next page is requested, the last blob found is deleted and one is added before it.
        if (page.blobs.length > 0) await container.deleteBlob(found.at(-1) ?? '')
        await put(container, `a-${found.length}`, { page: 'one', odd: 'yes' })
      } while (marker !== '')
      const expected = names.filter((_, i) => !where.includes('odd') || i % 2 === 1)
      assert.deepEqual(
        found.filter((name) => name.startsWith('b')),
        expected,
      )
      await container.delete()
    })
  }
})

describe('a search finds changes at once:', () => {
  const blobs = async (where: string) => (await find(where)).blobs

  test('with the SDK', async () => {
    const names: string[] = []
    for await (const blob of service.findBlobsByTags("color = 'blue'")) {
      names.push(`${blob.containerName}/${blob.name} ${blob.tags?.color ?? ''}`)
    }
    assert.deepEqual(names, ['fruit/plum blue', 'stone/lazuli blue'])
    const pages = stone.findBlobsByTags("weight >= '0000'").byPage({ maxPageSize: 1 })
    const counts: number[] = []
    for await (const page of pages) counts.push(page.blobs.length)
    assert.equal(
      counts.reduce((sum, n) => sum + n),
      2,
    )
  })

  test('tags that are set, replaced and removed', async () => {
    const blob = fruit.getBlockBlobClient('kiwi')
    await put(fruit, 'kiwi', { test: 'one' })
    assert.deepEqual(await blobs("test = 'one'"), ['fruit/kiwi'])
    await blob.setTags({ test: 'two' })
    assert.deepEqual(await blobs("test = 'one'"), [])
    assert.deepEqual(await blobs("test = 'two'"), ['fruit/kiwi'])
    await put(fruit, 'kiwi', { test: 'three' })
    assert.deepEqual(await blobs("test >= 'a'"), ['fruit/kiwi'])
    await put(fruit, 'kiwi', {})
    assert.deepEqual(await blobs("test >= 'a'"), [])
    await blob.setTags({ test: 'four' })
    await blob.delete()
    assert.deepEqual(await blobs("test >= 'a'"), [])
  })

  test('the current blob but not its snapshots', async () => {
    const blob = fruit.getBlockBlobClient('fig')
    await put(fruit, 'fig', { moment: 'then' })
    await blob.createSnapshot()
    await blob.setTags({ moment: 'now' })
    assert.deepEqual(await blobs("moment = 'then'"), [])
    assert.deepEqual(await blobs("moment = 'now'"), ['fruit/fig'])
    await blob.delete({ deleteSnapshots: 'include' })
  })

  test('no blobs of a deleted container, nor of a new one with its name', async () => {
    const container = service.getContainerClient('short')
    await container.create()
    await put(container, 'lived', { life: 'short' })
    assert.deepEqual(await blobs("life = 'short'"), ['short/lived'])
    await container.delete()
    assert.deepEqual(await blobs("life = 'short'"), [])
    await container.create()
    assert.deepEqual(await blobs("life = 'short'"), [])
    assert.deepEqual((await find("life = 'short'", '', 'short')).blobs, [])
  })

  test('any names', async () => {
    const container = service.getContainerClient('names')
    await container.create()
    await put(container, 'a/ö & <b>.txt', { odd: 'name' })
    const names: string[] = []
    for await (const blob of container.findBlobsByTags("odd = 'name'")) names.push(blob.name)
    assert.deepEqual(names, ['a/ö & <b>.txt'])
  })
})

describe('a search with a SAS', () => {
  const red = "color = 'red'"
  const expiresOn = () => new Date(server.now() + 3_600_000)
  const queryOf = (url: string) => url.slice(url.indexOf('?') + 1)

  for (const [permissions, types, expected] of [
    ['f', 'sco', '200'],
    ['l', 'sco', '403 AuthorizationPermissionMismatch'],
    ['f', 'o', '403 AuthorizationResourceTypeMismatch'],
  ] as const) {
    test(`of the account, ${permissions} for ${types} → ${expected}`, async () => {
      const url = service.generateAccountSasUrl(
        expiresOn(),
        AccountSASPermissions.parse(permissions),
        types,
      )
      assert.equal((await find(red, '', '', queryOf(url))).outcome, expected)
      assert.equal((await find(red, '', 'fruit', queryOf(url))).outcome, expected)
    })
  }

  for (const [permissions, expected] of [
    ['f', '200'],
    ['rlt', '403 AuthorizationPermissionMismatch'],
  ] as const) {
    test(`of a container, ${permissions} → ${expected}`, async () => {
      const parsed = ContainerSASPermissions.parse(permissions)
      const url = await fruit.generateSasUrl({ permissions: parsed, expiresOn: expiresOn() })
      assert.equal((await find(red, '', 'fruit', queryOf(url))).outcome, expected)
      assert.equal((await find(red, '', 'stone', queryOf(url))).outcome.slice(0, 3), '403')
      assert.equal((await find(red, '', '', queryOf(url))).outcome.slice(0, 3), '403')
    })
  }

  test('or a key is needed even in a public container', async () => {
    const open = service.getContainerClient('open')
    await open.create({ access: 'container' })
    assert.equal((await find(red, '', 'open', 'none')).outcome, '401 NoAuthenticationInformation')
  })
})
