// Attributes, times and permissions set by requests: every header, in every operation that accepts it, and the headers
// that each version requires.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { API_VERSION, assertRefused, type Headers } from '../harness.ts'
import { startFileFixture } from './fixture.ts'

const box = await startFileFixture({ share: 'props' })
let count = 0

const FILE = { 'x-ms-type': 'file', 'x-ms-content-length': '0' }
const SDDL = 'O:BAG:SYD:(A;;FA;;;SY)(A;;0x1200a9;;;BU)'

type Kind = 'file' | 'directory'
const KINDS: readonly Kind[] = ['file', 'directory']
const restype = (kind: Kind) => (kind === 'directory' ? 'restype=directory' : '')

const create = (kind: Kind, headers: Headers, name = `n${(count += 1)}`) =>
  box.send('PUT', `/props/${name}?${restype(kind)}`, { ...(kind === 'file' && FILE), ...headers })
const set = (kind: Kind, name: string, headers: Headers) =>
  box.send('PUT', `/props/${name}?comp=properties&${restype(kind)}`, headers)

async function newResource(kind: Kind, headers: Headers = {}): Promise<string> {
  const name = `n${(count += 1)}`
  const answer = await create(kind, headers, name)
  assert.equal(answer.status, 201, answer.text)
  return name
}

describe('attributes', () => {
  // prettier-ignore
  const ATTRIBUTES: readonly [sent: string, file: string | undefined, directory: string | undefined][] = [
    ['None',                     'None',                'Directory'],
    ['none',                     'None',                'Directory'],
    ['ReadOnly',                 'ReadOnly',            'ReadOnly | Directory'],
    ['Hidden|System',            'Hidden | System',     'Hidden | System | Directory'],
    ['archive | temporary',      'Archive | Temporary', 'Directory | Archive | Temporary'],
    ['Offline|NotContentIndexed|NoScrubData', 'Offline | NotContentIndexed | NoScrubData',
      'Directory | Offline | NotContentIndexed | NoScrubData'],
    ['Directory',                undefined,             'Directory'],
    ['None|Hidden',              undefined,             undefined],
    ['Blue',                     undefined,             undefined],
  ]
  for (const kind of KINDS) {
    for (const [sent, ofFile, ofDirectory] of ATTRIBUTES) {
      const expected = kind === 'file' ? ofFile : ofDirectory
      test(`${kind}: ${sent} → ${expected ?? '400 InvalidHeaderValue'}`, async () => {
        const headers = { 'x-ms-file-attributes': sent, 'x-ms-file-property-semantics': 'Restore' }
        const name = await newResource(kind)
        if (expected === undefined) {
          await assertRefused(create(kind, headers), 400, 'InvalidHeaderValue')
          await assertRefused(set(kind, name, headers), 400, 'InvalidHeaderValue')
          return
        }
        const returned = await create(kind, headers)
        assert.equal(returned.headers['x-ms-file-attributes'], expected)
        const changed = await set(kind, name, { 'x-ms-file-attributes': sent })
        assert.equal(changed.headers['x-ms-file-attributes'], expected)
      })
    }
  }
  test('are kept by preserve', async () => {
    const name = await newResource('file', { 'x-ms-file-attributes': 'Hidden' })
    const kept = await set('file', name, { 'x-ms-file-attributes': 'preserve' })
    assert.equal(kept.headers['x-ms-file-attributes'], 'Hidden | Archive')
    await assertRefused(
      create('file', { 'x-ms-file-attributes': 'preserve' }),
      400,
      'InvalidHeaderValue',
    )
  })
})

describe('times', () => {
  const TIMES = ['creation', 'last-write', 'change'] as const
  const THEN = '2019-08-07T06:05:04.1234567Z'
  for (const kind of KINDS) {
    for (const time of TIMES) {
      const name = `x-ms-file-${time}-time`
      test(`${kind}: ${name} can be a time, now or preserve`, async () => {
        const at = await newResource(kind, { [name]: THEN })
        box.server.advance(1_000)
        const now = new Date(box.server.now()).toISOString().replace('Z', '0000Z')
        const kept = await set(kind, at, { [name]: 'preserve' })
        // Every change updates the change time, unless the request sets it.
        assert.equal(kept.headers[name], time === 'change' ? now : THEN)
        const changed = await set(kind, at, { [name]: '2020-01-01T00:00:00Z' })
        assert.equal(changed.headers[name], '2020-01-01T00:00:00.0000000Z')
        const current = await set(kind, at, { [name]: 'Now' })
        assert.equal(current.headers[name], now)
        assert.equal((await create(kind, { [name]: 'now' })).headers[name], now)
        for (const bad of ['yesterday', '2020-01-01', '2020-02-30T00:00:00Z', 'source']) {
          await assertRefused(create(kind, { [name]: bad }), 400, 'InvalidHeaderValue')
          await assertRefused(set(kind, at, { [name]: bad }), 400, 'InvalidHeaderValue')
        }
      })
    }
  }
})

describe('permissions', () => {
  async function keyOf(permission: string): Promise<string> {
    const body = JSON.stringify({ permission })
    const path = '/props?restype=share&comp=filepermission'
    const answer = await box.send('PUT', path, { 'content-type': 'application/json' }, body)
    assert.equal(answer.status, 201, answer.text)
    return String(answer.headers['x-ms-file-permission-key'])
  }
  const sddlOf = async (key: string, format = 'Sddl'): Promise<string> => {
    const headers = { 'x-ms-file-permission-key': key, 'x-ms-file-permission-format': format }
    const { text } = await box.send('GET', '/props?restype=share&comp=filepermission', headers)
    return String((JSON.parse(text) as { permission: string }).permission)
  }

  for (const kind of KINDS) {
    test(`${kind}: text, key and binary result in the same permission`, async () => {
      const key = await keyOf(SDDL)
      const binary = await sddlOf(key, 'Binary')
      const forms: readonly Headers[] = [
        { 'x-ms-file-permission': SDDL },
        { 'x-ms-file-permission-key': key },
        { 'x-ms-file-permission': binary, 'x-ms-file-permission-format': 'Binary' },
      ]
      for (const headers of forms) {
        const made1 = await create(kind, headers)
        assert.equal(made1.headers['x-ms-file-permission-key'], key, made1.text)
        const changed = await set(kind, await newResource(kind), headers)
        assert.equal(changed.headers['x-ms-file-permission-key'], key)
      }
    })

    test(`${kind}: inherit uses the inheritable entries of the directory; preserve changes nothing`, async () => {
      const inherited = await create(kind, { 'x-ms-file-permission': 'inherit' })
      const plain = await create(kind, {})
      const key = String(plain.headers['x-ms-file-permission-key'])
      assert.equal(inherited.headers['x-ms-file-permission-key'], key)
      const sddl = await sddlOf(key)
      assert.match(sddl, kind === 'file' ? /\(A;;FA;;;BA\)/ : /\(A;OICI;FA;;;BA\)/)
      const name = await newResource(kind, { 'x-ms-file-permission': SDDL })
      const kept = await set(kind, name, { 'x-ms-file-permission': 'Preserve' })
      assert.equal(kept.headers['x-ms-file-permission-key'], await keyOf(SDDL))
      const back = await set(kind, name, { 'x-ms-file-permission': 'inherit' })
      assert.equal(back.headers['x-ms-file-permission-key'], key)
    })
  }

  test('a child inherits from its own directory', async () => {
    const owner = 'O:SYG:SYD:(A;OICI;FA;;;WD)'
    const directory = await newResource('directory', { 'x-ms-file-permission': owner })
    const child = await create('file', {}, `${directory}/child`)
    assert.match(
      await sddlOf(String(child.headers['x-ms-file-permission-key'])),
      /D:\(A;;FA;;;WD\)/,
    )
  })

  // prettier-ignore
  const REFUSED: readonly [what: string, headers: Headers, code: string][] = [
    ['invalid SDDL', { 'x-ms-file-permission': 'all' }, 'FileInvalidPermission'],
    ['no owner', { 'x-ms-file-permission': 'D:(A;;FA;;;SY)' }, 'FileInvalidPermission'],
    ['invalid base64', { 'x-ms-file-permission': '!', 'x-ms-file-permission-format': 'Binary' }, 'FileInvalidPermission'],
    ['over 8 KiB', { 'x-ms-file-permission': `${SDDL}${'(A;;FA;;;SY)'.repeat(700)}` }, 'FileInvalidPermission'],
    ['an unknown key', { 'x-ms-file-permission-key': '1*2' }, 'FileInvalidPermissionKey'],
    ['an invalid key', { 'x-ms-file-permission-key': 'key' }, 'FileInvalidPermissionKey'],
    ['both', { 'x-ms-file-permission': SDDL, 'x-ms-file-permission-key': '1*2' }, 'InvalidHeaderValue'],
    ['an unknown format', { 'x-ms-file-permission': SDDL, 'x-ms-file-permission-format': 'Text' }, 'InvalidHeaderValue'],
  ]
  for (const [what, headers, code] of REFUSED) {
    test(`${what}: 400 ${code}`, async () => {
      for (const kind of KINDS) {
        await assertRefused(create(kind, headers), 400, code)
        await assertRefused(set(kind, await newResource(kind), headers), 400, code)
      }
    })
  }
})

describe('versions', () => {
  const ALL: Readonly<Record<string, string>> = {
    'x-ms-file-attributes': 'None',
    'x-ms-file-creation-time': 'now',
    'x-ms-file-last-write-time': 'now',
    'x-ms-file-permission': 'inherit',
  }
  for (const version of ['2019-02-02', '2020-10-02', '2021-04-10']) {
    test(`${version} requires all headers`, async () => {
      for (const kind of KINDS) {
        const name = await newResource(kind, { ...ALL, 'x-ms-version': version })
        for (const missing of Object.keys(ALL)) {
          const { [missing]: _left, ...some } = ALL
          const headers = { ...some, 'x-ms-version': version }
          await assertRefused(create(kind, headers), 400, 'MissingRequiredHeader')
          await assertRefused(set(kind, name, headers), 400, 'MissingRequiredHeader')
        }
      }
    })
  }
  for (const version of ['2018-11-09', '2021-06-08', API_VERSION]) {
    test(`${version} requires none`, async () => {
      for (const kind of KINDS) {
        const name = await newResource(kind, { 'x-ms-version': version })
        assert.equal((await set(kind, name, { 'x-ms-version': version })).status, 200)
      }
    })
  }
})
