// What a user may do by the descriptors of a file and its directory ([MS-FSA] 2.1.5.1).
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { checkOwner } from './identity-access.ts'
import { ADDRESS, ALL_ACCESS, exampleShare, refusalOf, SHARE_ID } from '../open/open-example.ts'
import type { OpenOptions, ExampleShare } from '../open/open-example.ts'
import { requirePermission } from './permission.ts'
import { formatSddl } from './sddl-format.ts'
import { parseDescriptorText } from './sddl.ts'
import { decodeSecurityDescriptor, encodeSecurityDescriptor } from './security-descriptor.ts'
import { smbIdentity } from './smb-identity.ts'
import type { Disposition } from '../open/smb-open.ts'
import { renameOpened } from '../open/smb-rename.ts'

const ADA = smbIdentity('account', 'ada')
const GRACE = smbIdentity('account', 'grace')
const MAXIMUM = 0x0200_0000
const [LIST, ADD_FILE, ADD_DIRECTORY] = ['CC', 'DC', 'LC']
const [READ, WRITE] = [0x0012_0089, 0x0012_0116]

function bytesOf(sddl: string): Uint8Array {
  return encodeSecurityDescriptor(parseDescriptorText(sddl))
}

/** A share with `directory` and `directory/file`, created by the account with these descriptors. */
async function shareOf(directory: string, file: string): Promise<ExampleShare> {
  const share = await exampleShare()
  const created = [
    await share.open('directory', { wants: 'directory', descriptorBytes: bytesOf(directory) }),
    await share.open('directory/file', { descriptorBytes: bytesOf(file) }),
  ]
  for (const { open } of created) await share.close(open)
  return share
}

function openAsAda(
  share: ExampleShare,
  path: string,
  options: OpenOptions,
): Promise<{ readonly open: { readonly access: number } }> {
  return share.open(path, { disposition: 'open', identity: ADA, ...options })
}

const NOTHING = 'O:SYG:SYD:'
const ADAS = `O:${ADA.sid}G:SYD:`

describe('rights on a file', () => {
  // prettier-ignore
  const ROWS: readonly (readonly [file: string, directory: string, desired: number, granted: number | string])[] = [
    ['O:SYG:SYD:(A;;FR;;;WD)',           NOTHING,                     READ,                  READ],
    ['O:SYG:SYD:(A;;FR;;;WD)',           NOTHING,                     READ | WRITE,          'ACCESS_DENIED'],
    [`O:SYG:SYD:(A;;FA;;;${ADA.sid})`,   NOTHING,                     ALL_ACCESS,            ALL_ACCESS],
    [`O:SYG:SYD:(A;;FA;;;${GRACE.sid})`, NOTHING,                     0x1,                   'ACCESS_DENIED'],
    [`O:SYG:SYD:(A;;FA;;;${ADA.groupSid})`, NOTHING,                  MAXIMUM,               ALL_ACCESS],
    ['O:SYG:SYD:(A;;FA;;;AU)',           NOTHING,                     MAXIMUM,               ALL_ACCESS],
    ['O:SYG:SYD:(A;;FA;;;BU)',           NOTHING,                     MAXIMUM,               ALL_ACCESS],
    ['O:SYG:SYD:(A;;FA;;;NU)',           NOTHING,                     MAXIMUM,               ALL_ACCESS],
    ['O:SYG:SYD:(A;;FA;;;BA)',           NOTHING,                     0x1,                   'ACCESS_DENIED'],
    ['O:SYG:SYD:NO_ACCESS_CONTROL',      NOTHING,                     ALL_ACCESS,            ALL_ACCESS],
    [NOTHING,                            NOTHING,                     0x1,                   'ACCESS_DENIED'],
    [NOTHING,                            NOTHING,                     MAXIMUM | 0x1,         'ACCESS_DENIED'],
    // The owner may always read and set the DACL, unless there is an OWNER RIGHTS entry.
    [ADAS,                               NOTHING,                     0x0006_0000,           0x0006_0000],
    [ADAS,                               NOTHING,                     MAXIMUM,               0x0006_0000],
    [`${ADAS}(A;;FR;;;OW)`,              NOTHING,                     MAXIMUM,               READ],
    // DELETE_CHILD on the directory gives DELETE; the right to list it gives READ_ATTRIBUTES.
    [NOTHING,                            'O:SYG:SYD:(A;;DT;;;WD)',    0x0001_0000,           0x0001_0000],
    [NOTHING,                            `O:SYG:SYD:(A;;${LIST};;;WD)`, 0x80,                0x80],
    [NOTHING,                            `O:SYG:SYD:(A;;${LIST};;;WD)`, 0x0001_0000,         'ACCESS_DENIED'],
    [NOTHING,                            'O:SYG:SYD:(A;;FA;;;WD)',    MAXIMUM,               0x0001_0080],
    [NOTHING,                            'O:SYG:SYD:(A;;FA;;;WD)',    0x1,                   'ACCESS_DENIED'],
    // Auditing is a privilege that no user has.
    ['O:SYG:SYD:(A;;FA;;;WD)',           NOTHING,                     0x0100_0000,           'PRIVILEGE_NOT_HELD'],
  ]
  for (const [file, directory, desired, granted] of ROWS) {
    const outcome = typeof granted === 'string' ? granted : `0x${granted.toString(16)}`
    test(`${file} in ${directory}, requested 0x${desired.toString(16)}: ${outcome}`, async () => {
      const share = await shareOf(directory, file)
      const opening = openAsAda(share, 'directory/file', { desiredAccess: desired })
      if (typeof granted === 'string') assert.equal(await refusalOf(opening), granted)
      else assert.equal((await opening).open.access, granted)
    })
  }

  test('the account has all rights, whatever the descriptors are', async () => {
    const share = await shareOf(NOTHING, NOTHING)
    const { open, maximalAccess } = await share.open('directory/file')
    assert.deepEqual([open.access, maximalAccess], [ALL_ACCESS, ALL_ACCESS])
  })

  test('the maximal access includes rights by the directory', async () => {
    const share = await shareOf('O:SYG:SYD:(A;;DT;;;WD)', 'O:SYG:SYD:(A;;FR;;;WD)')
    const options = { disposition: 'open', identity: ADA, desiredAccess: 0x1 } as const
    const { maximalAccess } = await share.open('directory/file', options)
    assert.equal(maximalAccess, READ | 0x0001_0000)
  })
})

describe('creating and overwriting', () => {
  const adds = (rights: string) => `O:SYG:SYD:(A;;${rights};;;WD)`
  // prettier-ignore
  const ROWS: readonly (readonly [path: string, directory: string, file: string, disposition: Disposition, wants: 'file' | 'directory', outcome: string])[] = [
    ['directory/new',  adds(ADD_FILE),      NOTHING,        'create',      'file',      'done'],
    ['directory/new',  adds(ADD_DIRECTORY), NOTHING,        'create',      'file',      'ACCESS_DENIED'],
    ['directory/new',  adds(ADD_DIRECTORY), NOTHING,        'create',      'directory', 'done'],
    ['directory/new',  adds(ADD_FILE),      NOTHING,        'create',      'directory', 'ACCESS_DENIED'],
    ['directory/new',  NOTHING,             NOTHING,        'openIf',      'file',      'ACCESS_DENIED'],
    ['directory/file', NOTHING,             adds('FA'),     'overwrite',   'file',      'done'],
    ['directory/file', NOTHING,             adds('FR'),     'overwrite',   'file',      'ACCESS_DENIED'],
    ['directory/file', NOTHING,             adds('FRFW'),   'overwriteIf', 'file',      'done'],
    ['directory/file', NOTHING,             adds('FA'),     'supersede',   'file',      'ACCESS_DENIED'],
    ['directory/file', adds(ADD_FILE),      adds('FA'),     'supersede',   'file',      'done'],
    ['directory/file', adds(ADD_FILE),      adds('FRFW'),   'supersede',   'file',      'ACCESS_DENIED'],
  ]
  for (const [path, directory, file, disposition, wants, outcome] of ROWS) {
    test(`${disposition} a ${wants} ${path}: ${directory}, ${file}: ${outcome}`, async () => {
      const share = await shareOf(directory, file)
      const options = { disposition, wants, desiredAccess: 0x0012_0080 | 0x1 }
      assert.equal(await refusalOf(openAsAda(share, path, options)), outcome)
    })
  }

  test('the creator gets the requested access; the maximal access is by the new descriptor', async () => {
    const share = await shareOf('O:SYG:SYD:(A;OI;FR;;;WD)(A;;FA;;;WD)', NOTHING)
    const options = { disposition: 'create', identity: ADA, desiredAccess: MAXIMUM } as const
    const { open, maximalAccess } = await share.open('directory/new', options)
    assert.equal(open.access, ALL_ACCESS)
    assert.equal(maximalAccess, READ | 0x0007_0000)
  })

  test('delete on close needs the right to delete, requested explicitly', async () => {
    const share = await shareOf(NOTHING, 'O:SYG:SYD:(A;;FR;;;WD)')
    for (const [desiredAccess, refusal] of [
      [MAXIMUM, 'INVALID_PARAMETER'],
      [MAXIMUM | 0x0001_0000, 'ACCESS_DENIED'],
    ] as const) {
      const options = { desiredAccess, deleteOnClose: true }
      assert.equal(await refusalOf(openAsAda(share, 'directory/file', options)), refusal)
    }
  })
})

describe('the owner of a new file', () => {
  async function sddlOf(
    share: ExampleShare,
    path: string,
    options: OpenOptions = {},
  ): Promise<string> {
    const { node } = await share.open(path, { disposition: 'create', identity: ADA, ...options })
    return share.kv.read(function* (tx) {
      const bytes = yield* requirePermission(tx, SHARE_ID, node.permissionKey)
      return formatSddl(decodeSecurityDescriptor(bytes))
    })
  }
  const OPEN = 'O:SYG:SYD:(A;OICIIO;FA;;;CO)(A;OICI;FR;;;WD)(A;;FA;;;WD)'

  test('is its creator, who also replaces CREATOR OWNER', async () => {
    const share = await shareOf(OPEN, NOTHING)
    const expected = `O:${ADA.sid}G:${ADA.groupSid}D:(A;;FA;;;${ADA.sid})(A;;FR;;;WD)`
    assert.equal(await sddlOf(share, 'directory/new'), expected)
  })

  test('is SYSTEM if the account creates it', async () => {
    const share = await shareOf(OPEN, NOTHING)
    const { node } = await share.open('directory/new', { disposition: 'create' })
    const bytes = await share.kv.read((tx) => requirePermission(tx, SHARE_ID, node.permissionKey))
    assert.equal(decodeSecurityDescriptor(bytes).owner, 'S-1-5-18')
  })

  // prettier-ignore
  const GIVEN = [
    [`O:${ADA.sid}G:SYD:(A;;FA;;;WD)`,   'done'],
    ['D:(A;;FA;;;WD)',                   'done'],
    [`O:${GRACE.sid}G:SYD:(A;;FA;;;WD)`, 'INVALID_OWNER'],
    ['O:SYG:SYD:(A;;FA;;;WD)',           'INVALID_OWNER'],
    ['D:(A;;FA;;;WD)S:(AU;SA;FA;;;WD)',  'PRIVILEGE_NOT_HELD'],
  ] as const
  for (const [sddl, outcome] of GIVEN) {
    test(`in a request with ${sddl}: ${outcome}`, async () => {
      const share = await shareOf(OPEN, NOTHING)
      const creating = sddlOf(share, 'directory/new', { descriptorBytes: bytesOf(sddl) })
      assert.equal(await refusalOf(creating), outcome)
    })
  }
})

describe('a rename', () => {
  // prettier-ignore
  const ROWS = [
    ['elsewhere/new',  'O:SYG:SYD:(A;;DC;;;WD)',   NOTHING,                  'done'],
    ['elsewhere/new',  'O:SYG:SYD:(A;;LC;;;WD)',   NOTHING,                  'ACCESS_DENIED'],
    ['elsewhere/old',  'O:SYG:SYD:(A;;DC;;;WD)',   NOTHING,                  'ACCESS_DENIED'],
    ['elsewhere/old',  'O:SYG:SYD:(A;;DCDT;;;WD)', NOTHING,                  'done'],
    ['elsewhere/old',  'O:SYG:SYD:(A;;DC;;;WD)',   'O:SYG:SYD:(A;;SD;;;WD)', 'done'],
  ] as const
  for (const [to, directory, old, outcome] of ROWS) {
    test(`to ${to}: ${directory}, over ${old}: ${outcome}`, async () => {
      const share = await shareOf(NOTHING, 'O:SYG:SYD:(A;;FA;;;WD)')
      const wants = 'directory'
      const created = [
        await share.open('elsewhere', { wants, descriptorBytes: bytesOf(directory) }),
        await share.open('elsewhere/old', { descriptorBytes: bytesOf(old) }),
      ]
      for (const { open } of created) await share.close(open)
      const { open } = await share.open('directory/file', { disposition: 'open', identity: ADA })
      const change = { path: to.split('/'), replaceIfExists: true, posixSemantics: false }
      const rename = { ...change, frozen: {}, identity: ADA }
      const renamed = share.kv.write((tx) =>
        renameOpened(tx, ADDRESS, open, rename, share.moment()),
      )
      assert.equal(await refusalOf(renamed), outcome)
    })
  }
})

test('a user can set only itself or the previous owner as owner', () => {
  checkOwner(undefined, GRACE.sid)
  checkOwner(ADA.sid, undefined)
  checkOwner(ADA.sid, ADA.sid, GRACE.sid)
  checkOwner(ADA.sid, GRACE.sid, GRACE.sid)
  assert.throws(() => checkOwner(ADA.sid, GRACE.sid, ADA.sid), { status: 'INVALID_OWNER' })
})
