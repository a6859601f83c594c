// --smbEncryption required: clients that do not encrypt are refused ([MS-SMB2] 3.3.5.5.3, 3.3.5.2.9).
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { COMMAND } from '../../src/smb/wire/header.ts'
import { ACCOUNT, ACCOUNT_KEY, rawRequest } from '../harness.ts'
import { runTestServer, type RunningTestServer } from '../running-server.ts'
import { negotiateBody, RawClient, SIMPLE_BODY } from './raw-client.ts'

const SMB302 = 0x0302
const CAPABILITY_ENCRYPTION = 0x40
const CAPABILITIES_OFFSET = 8

let server: RunningTestServer

before(async () => {
  server = await runTestServer({ silent: true, smbEncryption: 'required' })
  const place = { blobPort: server.filePort }
  await rawRequest(place, { method: 'PUT', path: '/box?restype=share' })
})
after(() => server.close())

test('a client that cannot encrypt gets no session', async () => {
  const client = await RawClient.open(server.smbPort)
  const answer = await client.logIn(ACCOUNT, ACCOUNT_KEY)
  client.close()
  assert.equal(answer?.status, 'ACCESS_DENIED')
})

test('unencrypted requests of a client that can encrypt are refused', async () => {
  const client = await RawClient.open(server.smbPort)
  const body = negotiateBody([SMB302])
  body.writeUInt32LE(CAPABILITY_ENCRYPTION, CAPABILITIES_OFFSET)
  await client.ask(COMMAND.NEGOTIATE, body)
  const login = await client.setUpSession(ACCOUNT, ACCOUNT_KEY)
  const tree = await client.connectTree('box')
  const logoff = await client.ask(COMMAND.LOGOFF, SIMPLE_BODY)
  client.close()
  const statuses = [login?.status, tree?.status, logoff?.status]
  assert.deepEqual(statuses, ['SUCCESS', 'ACCESS_DENIED', 'ACCESS_DENIED'])
})
