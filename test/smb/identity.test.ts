// SMB users with their own passwords, over the wire: two of them and the account use one share.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ShareServiceClient, type ShareClient } from '@azure/storage-file-share'
import { startServer, type LazuliServer } from '../../src/server.ts'
import { parseDescriptorText } from '../../src/storage/file/security/sddl.ts'
import { formatSddl } from '../../src/storage/file/security/sddl-format.ts'
import {
  decodeSecurityDescriptor,
  encodeSecurityDescriptor,
} from '../../src/storage/file/security/security-descriptor.ts'
import { smbIdentity } from '../../src/storage/file/security/smb-identity.ts'
import { ACCOUNT } from '../harness.ts'
import {
  COMMANDS,
  createBody,
  DISPOSITION,
  OPLOCK,
  OPTION,
  securityTokenOf,
  sessionSetupBody,
} from './client-message.ts'
import { authenticateMessage, negotiateMessage } from './ntlm-client.ts'
import { SmbClient, statusOf } from './smb-client.ts'
import type { SmbFile } from './smb-file.ts'

const SHARE = 'team'
const ADA = { user: 'Ada', account: ACCOUNT, password: 'difference engine' }
const GRACE = { user: 'grace', account: ACCOUNT, password: 'compiler: A-0' }
const [ADA_SID, GRACE_SID] = [ADA, GRACE].map(({ user }) => smbIdentity(ACCOUNT, user).sid)

const [READ, ALL, SECURITY] = [0x0012_0089, 0x001f_01ff, 0x000e_0000]
const { create, open, openIf } = DISPOSITION

/** [MS-ERREF] 2.3.1 */
const INVALID_OWNER = '0xc000005a'

let server: LazuliServer
let rest: ShareClient
let ada: SmbClient
let grace: SmbClient
let account: SmbClient

before(async () => {
  server = await startServer({ smbUsers: [ADA, GRACE] })
  rest = ShareServiceClient.fromConnectionString(server.connectionString).getShareClient(SHARE)
  await rest.create()
  const port = server.smbPort
  ada = await SmbClient.connect({ port, share: SHARE, login: ADA })
  grace = await SmbClient.connect({ port, share: SHARE, login: GRACE })
  account = await SmbClient.connect({ port, share: SHARE })
})
after(async () => {
  for (const client of [ada, grace, account]) client.end()
  await server.close()
})

async function make(client: SmbClient, name: string, options = 0): Promise<void> {
  const created = await client.open(name, { access: ALL, disposition: create, options })
  await created.close()
}

function bytesOf(sddl: string): Buffer {
  return Buffer.from(encodeSecurityDescriptor(parseDescriptorText(sddl)))
}

async function sddlOf(file: SmbFile): Promise<string> {
  return formatSddl(decodeSecurityDescriptor(await file.descriptor()))
}

async function protect(client: SmbClient, name: string, sddl: string): Promise<void> {
  const file = await client.open(name, { access: SECURITY, disposition: open })
  await file.setDescriptor(bytesOf(sddl))
  await file.close()
}

function tries(client: SmbClient, name: string, access: number): Promise<string> {
  const opened = client.open(name, { access, disposition: open })
  return statusOf(opened.then((file) => file.close()))
}

test('user names are not case-sensitive', async () => {
  const login = { ...ADA, user: 'ADA' }
  const client = await SmbClient.connect({ port: server.smbPort, share: SHARE, login })
  client.end()
})

describe('security descriptors:', () => {
  test('the creator of a file owns it', async () => {
    await make(ada, 'hers')
    const file = await grace.open('hers', { access: 0x0002_0000 })
    assert.match(await sddlOf(file), new RegExp(`^O:${ADA_SID}G:S-1-5-21-.*-513D:`))
    await file.close()
  })

  test('a file can be denied to one of two users', async () => {
    await make(ada, 'secret')
    await protect(ada, 'secret', `O:${ADA_SID}G:${ADA_SID}D:P(A;;FA;;;${ADA_SID})`)
    assert.deepEqual(
      [
        await tries(ada, 'secret', READ),
        await tries(grace, 'secret', READ),
        // The share's own descriptor lets Authenticated Users list the root, and so read the attributes.
        await tries(grace, 'secret', 0x80),
        await tries(account, 'secret', ALL),
      ],
      ['SUCCESS', 'ACCESS_DENIED', 'SUCCESS', 'SUCCESS'],
    )
    const bytes = await rest.rootDirectoryClient.getFileClient('secret').downloadToBuffer()
    assert.equal(bytes.length, 0, 'REST is the account')
  })

  test('MAXIMUM_ALLOWED opens files to which the user has any right, and no others', async () => {
    const maximum = 0x0200_0000
    await make(ada, 'closed', OPTION.directory)
    await make(ada, 'closed\\file')
    await make(ada, 'closed\\shown')
    const hers = `O:${ADA_SID}G:${ADA_SID}D:P(A;;FA;;;${ADA_SID})`
    await protect(ada, 'closed\\file', hers)
    await protect(ada, 'closed\\shown', `${hers}(A;;FR;;;${GRACE_SID})`)
    await protect(ada, 'closed', hers)
    assert.deepEqual(
      [
        await tries(grace, 'closed\\file', maximum),
        await tries(grace, 'closed\\shown', maximum),
        await tries(ada, 'closed\\file', maximum),
        await tries(account, 'closed\\file', maximum),
      ],
      ['ACCESS_DENIED', 'SUCCESS', 'SUCCESS', 'SUCCESS'],
    )
  })

  test('inherited entries apply to new files in a directory', async () => {
    await make(ada, 'readable', OPTION.directory)
    const inherited = `D:P(A;OICI;FA;;;${ADA_SID})(A;OICI;FR;;;${GRACE_SID})`
    await protect(ada, 'readable', `O:${ADA_SID}G:${ADA_SID}${inherited}`)
    await make(ada, 'readable\\file')
    assert.deepEqual(
      [
        await tries(grace, 'readable\\file', READ),
        await tries(grace, 'readable\\file', READ | 0x2),
        await tries(grace, 'readable\\file', 0x0001_0000),
        await statusOf(make(grace, 'readable\\hers')),
      ],
      ['SUCCESS', 'ACCESS_DENIED', 'ACCESS_DENIED', 'ACCESS_DENIED'],
    )
  })

  test('a user cannot give a file to another owner', async () => {
    await make(grace, 'kept')
    const full = `O:${GRACE_SID}G:${GRACE_SID}D:(A;;FA;;;WD)`
    await protect(grace, 'kept', full)
    const changed = protect(grace, 'kept', full.replace(`O:${GRACE_SID}`, `O:${ADA_SID}`))
    assert.equal(await statusOf(changed), INVALID_OWNER)
    await protect(ada, 'kept', full.replace(`O:${GRACE_SID}`, `O:${ADA_SID}`))
  })
})

test('open files are listed with the user name', async () => {
  const file = await grace.open('opened', { access: ALL, disposition: openIf })
  const handles: (string | undefined)[] = []
  const byRest = rest.rootDirectoryClient.getFileClient('opened')
  for await (const { clientName } of byRest.listHandles()) handles.push(clientName)
  assert.deepEqual(handles, ['grace'])
  await file.close()
})

test('an anonymous re-authentication gives open handles no additional rights', async () => {
  await make(ada, 'private', OPTION.directory)
  await protect(ada, 'private', `O:${ADA_SID}G:${ADA_SID}D:P(A;OICI;FA;;;${ADA_SID})`)
  const terms = { port: server.smbPort, share: SHARE, dialect: 0x0210 } as const
  const client = await SmbClient.connect({ ...terms, login: GRACE })
  const file = await client.open('stepping', { access: ALL, disposition: openIf })
  const first = await client.ask(COMMANDS.SESSION_SETUP, sessionSetupBody(negotiateMessage()))
  const nobody = { user: '', password: '', ntResponse: Buffer.alloc(0) }
  const token = authenticateMessage(securityTokenOf(first), nobody)
  await client.ask(COMMANDS.SESSION_SETUP, sessionSetupBody(token))
  assert.equal(await statusOf(file.rename('private\\stolen')), 'ACCESS_DENIED')
  const changed = bytesOf(`O:${ADA_SID}G:${ADA_SID}D:(A;;FA;;;WD)`)
  assert.equal(await statusOf(file.setDescriptor(changed)), INVALID_OWNER)
  assert.equal(await tries(client, 'stepping', READ), 'ACCESS_DENIED')
  client.end()
})

/** Reconnects to the handle ([MS-SMB2] 2.2.13.2.4); retries until the server has noticed the lost connection. */
async function comeBack(client: SmbClient, fileId: Buffer): Promise<string> {
  const body = createBody('durable', { access: ALL, disposition: open, durable: true })
  const tag = body.indexOf('DHnQ')
  body.write('DHnC', tag, 'latin1')
  fileId.copy(body, tag - 16 + body.readUInt16LE(tag - 16 + 10))
  for (let tried = 0; tried < 1_000; tried += 1) {
    const status = await statusOf(client.ask(COMMANDS.CREATE, body))
    if (status !== 'OBJECT_NAME_NOT_FOUND') return status
  }
  return 'OBJECT_NAME_NOT_FOUND'
}

test('only the user who opened a durable handle can reconnect to it, not another user of the client', async () => {
  const clientGuid = Buffer.alloc(16, 7)
  const terms = { port: server.smbPort, share: SHARE, clientGuid, dialect: 0x0210 } as const
  const first = await SmbClient.connect({ ...terms, login: ADA })
  const opened = { access: ALL, disposition: openIf, durable: true, oplock: OPLOCK.batch }
  const { fileId } = (await first.open('durable', opened)).opened
  first.end()
  const other = await SmbClient.connect({ ...terms, login: GRACE })
  assert.equal(await comeBack(other, fileId), 'ACCESS_DENIED')
  const again = await SmbClient.connect({ ...terms, login: ADA })
  assert.equal(await comeBack(again, fileId), 'SUCCESS')
  other.end()
  again.end()
})
