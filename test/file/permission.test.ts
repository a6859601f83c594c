// Create Permission, Get Permission, and the properties of the File service.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { xmlText, assertRefused } from '../harness.ts'
import { retention, startFileFixture } from './fixture.ts'

const box = await startFileFixture({ share: 'perm' })

const SDDL = 'O:SYG:SYD:(A;;FA;;;BA)(A;;0x1200a9;;;S-1-5-21-1-2-3-500)'
/** A descriptor with only an empty list. */
const LIST_ONLY = 'AQAEgAAAAAAAAAAAAAAAABQAAAACAAgAAAAAAA=='
const PATH = '/perm?restype=share&comp=filepermission'
const create = (body: unknown) =>
  box.send('PUT', PATH, {}, typeof body === 'string' ? body : JSON.stringify(body))
const get = (key: string, headers = {}) =>
  box.send('GET', PATH, { 'x-ms-file-permission-key': key, ...headers })

describe('Create Permission', () => {
  test('returns the same key for equal permissions, and Get Permission returns both formats', async () => {
    const share = box.service.getShareClient('perm')
    const created = await share.createPermission(SDDL)
    const key = created.filePermissionKey ?? ''
    assert.match(key, /^\d+\*\d+$/)
    const { permission } = await share.getPermission(key)
    assert.equal(permission, `${SDDL}S:NO_ACCESS_CONTROL`)
    const binary = await get(key, { 'x-ms-file-permission-format': 'binary' })
    assert.equal(binary.headers['content-type'], undefined)
    const returned: unknown = JSON.parse(binary.text)
    assert.ok(typeof returned === 'object' && returned !== null && 'permission' in returned)
    const again = await create({ permission: returned.permission, format: 'Binary' })
    assert.deepEqual([again.status, again.headers['x-ms-file-permission-key']], [201, key])
    const same = await create({ Permission: SDDL, Format: 'sddl' })
    assert.equal(same.headers['x-ms-file-permission-key'], key)
  })

  const REFUSED = [
    ['invalid JSON', '{', 'InvalidInput'],
    ['JSON that is not an object', '1', 'InvalidInput'],
    ['an unknown format', { permission: SDDL, format: 'Yaml' }, 'InvalidInput'],
    ['no permission', {}, 'FileInvalidPermission'],
    ['invalid SDDL', { permission: 'x' }, 'FileInvalidPermission'],
    ['SDDL without owner', { permission: 'G:SYD:(A;;FA;;;BA)' }, 'FileInvalidPermission'],
    ['SDDL without a list', { permission: 'O:SYG:SY' }, 'FileInvalidPermission'],
    ['invalid base64', { permission: '***', format: 'Binary' }, 'FileInvalidPermission'],
    ['bytes without owner', { permission: LIST_ONLY, format: 'Binary' }, 'FileInvalidPermission'],
    ['invalid bytes', { permission: 'AAAA', format: 'Binary' }, 'FileInvalidPermission'],
  ] as const
  for (const [what, body, code] of REFUSED) {
    test(`refuses ${what}`, () => assertRefused(create(body), 400, code))
  }

  test('keeps the permissions of each share separate', async () => {
    const created = await create({ permission: SDDL })
    const key = String(created.headers['x-ms-file-permission-key'])
    await box.createShare('elsewhere')
    const other = box.send('GET', '/elsewhere?restype=share&comp=filepermission', {
      'x-ms-file-permission-key': key,
    })
    await assertRefused(other, 400, 'FileInvalidPermissionKey')
  })
})

describe('Get Permission', () => {
  test('refuses unknown keys and a missing key', async () => {
    await assertRefused(get('1*2'), 400, 'FileInvalidPermissionKey')
    await assertRefused(get('x'.repeat(900)), 400, 'FileInvalidPermissionKey')
    await assertRefused(box.send('GET', PATH), 400, 'MissingRequiredHeader')
    const odd = get('1*2', { 'x-ms-file-permission-format': 'Yaml' })
    await assertRefused(odd, 400, 'InvalidHeaderValue')
    const nobody = box.send('GET', '/nobody?restype=share&comp=filepermission', {
      'x-ms-file-permission-key': '1*2',
    })
    await assertRefused(nobody, 404, 'ShareNotFound')
  })
})

describe('Set File Service Properties', () => {
  const set = (elements: string) => {
    const body = `<StorageServiceProperties>${elements}</StorageServiceProperties>`
    return box.send('PUT', '/?restype=service&comp=properties', {}, body)
  }
  const smb = (inner: string) => `<ProtocolSettings><SMB>${inner}</SMB></ProtocolSettings>`

  test('sets retention and CORS, which Get returns with the rest', async () => {
    await box.service.setProperties({
      cors: [
        {
          allowedOrigins: 'https://a.example', allowedMethods: 'GET', allowedHeaders: '*', exposedHeaders: '',
          maxAgeInSeconds: 5,
        },
      ],
    }) // prettier-ignore
    await box.setServiceProperties(retention('<Enabled>true</Enabled><Days>30</Days>'))
    const { text } = await box.send('GET', '/?restype=service&comp=properties')
    assert.equal(xmlText(text, 'AllowedOrigins'), 'https://a.example')
    assert.match(text, /<ShareDeleteRetentionPolicy><Enabled>true<\/Enabled><Days>30<\/Days>/)
    assert.match(text, /<SMB><Multichannel><Enabled>false<\/Enabled><\/Multichannel><\/SMB>/)
    const got = await box.service.getProperties()
    assert.deepEqual(
      [
        got.hourMetrics?.enabled,
        got.minuteMetrics?.enabled,
        got.protocol?.smb?.multichannel?.enabled,
      ],
      [false, false, false],
    )
  })

  const ON =
    '<Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs>' +
    '<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>'
  const CASES: readonly (readonly [elements: string, outcome: string])[] = [
    [smb('<Multichannel><Enabled>false</Enabled></Multichannel>'), '202'],
    [smb('<Multichannel><Enabled>true</Enabled></Multichannel>'), 'UnsupportedXmlNode'],
    [smb('<Versions>SMB2.1;SMB3.0;SMB3.1.1;</Versions>'), '202'],
    [smb('<Versions>SMB3.1.1</Versions>'), 'UnsupportedXmlNode'],
    [smb('<Versions>SMB1</Versions>'), 'InvalidXmlNodeValue'],
    [smb('<AuthenticationMethods>NTLMv2</AuthenticationMethods>'), '202'],
    [smb('<AuthenticationMethods>Kerberos</AuthenticationMethods>'), 'UnsupportedXmlNode'],
    [smb('<KerberosTicketEncryption>AES-256</KerberosTicketEncryption>'), 'UnsupportedXmlNode'],
    [smb('<ChannelEncryption>AES-256-GCM</ChannelEncryption>'), 'UnsupportedXmlNode'],
    [
      smb('<EncryptionInTransit><Required>true</Required></EncryptionInTransit>'),
      'UnsupportedXmlNode',
    ],
    [`<HourMetrics>${ON}</HourMetrics>`, '202'],
    [`<MinuteMetrics>${ON}</MinuteMetrics>`, '202'],
    [retention('<Enabled>true</Enabled>'), 'InvalidXmlDocument'],
    [retention('<Enabled>true</Enabled><Days>366</Days>'), 'InvalidXmlDocument'],
    ['<Logging />', 'InvalidXmlDocument'],
  ]
  for (const [elements, outcome] of CASES) {
    test(`${elements} → ${outcome}`, async () => {
      const answer = await set(elements)
      assert.equal(String(answer.headers['x-ms-error-code'] ?? answer.status), outcome)
    })
  }
})
