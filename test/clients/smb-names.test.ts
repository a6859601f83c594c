// Names of SMB users in Samba's own tools: smbcacls shows the permissions of a file, rpcclient the lookups of LSA.
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { ShareServiceClient } from '@azure/storage-file-share'
import { startServer, type LazuliServer } from '../../src/server.ts'
import { smbIdentity } from '../../src/storage/file/security/smb-identity.ts'
import { ACCOUNT } from '../harness.ts'
import { cleanUp } from '../server-process.ts'
import { CLIENT_LIMIT_MS, clientOf, missingReason } from './program.ts'

/** smbcacls supports no other port, so the server listens on a random loopback address. */
const SMB_PORT = 445
const part = () => 1 + Math.floor(254 * Math.random())
const HOST = `127.${part()}.${part()}.${part()}`

/** The reason why a server cannot listen there, or undefined. */
async function busyReason(): Promise<string | undefined> {
  const probe = createServer()
  return await new Promise((resolve) => {
    probe.once('error', (error) => resolve(`port 445 cannot be used: ${error.message}`))
    probe.listen(SMB_PORT, HOST, () => probe.close(() => resolve(undefined)))
  })
}

const skip =
  missingReason('smbcacls', ['smbcacls', '--version']) ??
  missingReason('rpcclient', ['rpcclient', '--version']) ??
  (await busyReason()) ??
  false

const [ADA_SID, GRACE_SID] = ['Ada', 'grace'].map((user) => smbIdentity(ACCOUNT, user).sid)

describe('names of SMB users:', { skip, timeout: CLIENT_LIMIT_MS }, () => {
  let server: LazuliServer
  const smbcacls = clientOf(['smbcacls'], {})
  const rpcclient = clientOf(['rpcclient'], {})
  const smbclient = clientOf(['smbclient'], {})
  const login = '--user=Ada%difference engine'

  before(async () => {
    server = await startServer({
      host: HOST,
      smbPort: SMB_PORT,
      accounts: {
        [ACCOUNT]: Buffer.alloc(64).toString('base64'),
        otheraccount: Buffer.alloc(64, 1).toString('base64'),
      },
      smbUsers: [
        { user: 'Ada', account: ACCOUNT, password: 'difference engine' },
        { user: 'grace', account: ACCOUNT, password: 'compiler' },
        { user: 'mallory', account: 'otheraccount', password: 'elsewhere' },
      ],
    })
    const service = ShareServiceClient.fromConnectionString(server.connectionString)
    await service.getShareClient('team').create()
    await smbclient.ok(`//${HOST}/team`, login, '-c', 'mkdir plans')
  })
  after(async () => {
    await cleanUp()
    await server.close()
  })

  const acl = (...args: string[]) => smbcacls.ok(`//${HOST}/team`, 'plans', login, ...args)
  const rpc = (command: string) => rpcclient.ok(HOST, login, '-c', command)

  test('smbcacls shows the owner, the group and the entries by name', async () => {
    const output = await acl()
    assert.match(output, new RegExp(`^OWNER:${ACCOUNT}\\\\Ada$`, 'm'))
    assert.match(output, new RegExp(`^GROUP:${ACCOUNT}\\\\Domain Users$`, 'm'))
    assert.match(output, /^ACL:NT AUTHORITY\\SYSTEM:ALLOWED/m)
    assert.match(output, /^ACL:BUILTIN\\Administrators:ALLOWED/m)
  })

  test('smbcacls grants rights to a user by name', async () => {
    await acl('--add', `ACL:${ACCOUNT}\\grace:ALLOWED/OI|CI/READ`)
    assert.match(await acl(), new RegExp(`^ACL:${ACCOUNT}\\\\grace:ALLOWED/OI\\|CI/READ$`, 'm'))
    assert.match(await acl('--numeric'), new RegExp(`^ACL:${GRACE_SID}:`, 'm'))
  })

  test('rpcclient resolves names to SIDs', async () => {
    const output = await rpc('lookupnames ADA grace')
    assert.equal(output, `ADA ${ADA_SID} (User: 1)\ngrace ${GRACE_SID} (User: 1)\n`)
    assert.equal(await rpc('lookupnames4 Ada'), `Ada ${ADA_SID} (User: 1)\n`)
  })

  test('rpcclient resolves SIDs to names', async () => {
    const output = await rpc(`lookupsids ${ADA_SID} S-1-5-18 S-1-5-21-1-2-3-4`)
    assert.deepEqual(output.split('\n'), [
      `${ADA_SID} ${ACCOUNT}\\Ada (1)`,
      'S-1-5-18 NT AUTHORITY\\SYSTEM (5)',
      'S-1-5-21-1-2-3-4 *unknown*\\*unknown* (8)',
      '',
    ])
    assert.equal(await rpc(`lookupsids3 ${GRACE_SID}`), `${GRACE_SID} grace (1)\n`)
  })

  test('users of another account are unknown', async () => {
    const { sid } = smbIdentity('otheraccount', 'mallory')
    await rpcclient.fails(HOST, login, '-c', 'lookupnames mallory')
    assert.match(await rpc(`lookupsids ${ADA_SID} ${sid}`), /\*unknown\*/)
  })
})
