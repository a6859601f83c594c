// A session belongs to one user: neither the keys of another session nor the login of another user give access to it.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { CIPHER, DIALECT, SIGNING } from '../../src/smb/session/dialect.ts'
import { deriveSessionKeys } from '../../src/smb/session/key.ts'
import { createSigner } from '../../src/smb/session/sign.ts'
import {
  createDecryptor,
  createEncryptor,
  decodeTransform,
} from '../../src/smb/session/transform.ts'
import { encodeFramePrefix } from '../../src/smb/wire/frame.ts'
import { COMMAND } from '../../src/smb/wire/header.ts'
import { ACCOUNT, ACCOUNT_KEY, rawRequest } from '../harness.ts'
import { runTestServer, type RunningTestServer } from '../running-server.ts'
import { authenticateMessage, negotiateMessage, SESSION_KEY } from './ntlm-client.ts'
import { answersIn, createBody, RawClient, sessionSetupBody, type Answer } from './raw-client.ts'

const OWNER = { user: ACCOUNT, password: ACCOUNT_KEY }
const ADA = { user: 'Ada', account: ACCOUNT, password: 'difference engine' }
type Login = { readonly user: string; readonly password: string }

const CAPABILITY_ENCRYPTION = 0x40
const BINDING = 1
const FLAGS_OFFSET = 2

/** Before 3.1.1 keys depend only on the login's key, which is the same in all logins of a RawClient. */
const KEYS = deriveSessionKeys({
  dialect: DIALECT.smb302,
  cipher: CIPHER.aes128Ccm,
  sessionKey: SESSION_KEY,
  preauthHash: Buffer.alloc(0),
})

let server: RunningTestServer
const clients: RawClient[] = []

before(async () => {
  server = await runTestServer({ silent: true, logLevel: 'error', smbUsers: [ADA] })
  await rawRequest({ blobPort: server.filePort }, { method: 'PUT', path: '/box?restype=share' })
})
after(async () => {
  for (const client of clients) client.close()
  await server.close()
  assert.equal(server.logged(), '')
})

async function openClient(): Promise<RawClient> {
  const client = await RawClient.open(server.smbPort)
  clients.push(client)
  client.capabilities = CAPABILITY_ENCRYPTION
  assert.equal((await client.negotiate([DIALECT.smb302]))?.status, 'SUCCESS')
  return client
}

type Place = { readonly sessionId: bigint; readonly treeId: number }

/** Sets up another session on the client's connection and connects to the share. */
async function logIn(client: RawClient, { user, password }: Login): Promise<Place> {
  client.sessionId = 0n
  assert.equal((await client.setUpSession(user, password))?.status, 'SUCCESS')
  assert.equal((await client.connectTree('box'))?.status, 'SUCCESS')
  return { sessionId: client.sessionId, treeId: client.treeId }
}

/** Encrypts a CREATE with the keys of one session; its header names `place`. */
async function createEncrypted(
  client: RawClient,
  encryptingId: bigint,
  place: Place,
): Promise<Answer | undefined> {
  assert(KEYS.encryption && KEYS.decryption)
  const message = client.next(COMMAND.CREATE, createBody('file'), place)
  const encryptor = createEncryptor(CIPHER.aes128Ccm, KEYS.decryption, encryptingId)
  const frame = Buffer.concat(encryptor.encrypt([message]))
  client.write(Buffer.concat([encodeFramePrefix(frame.length), frame]))
  const response = await client.frame()
  assert(response)
  const header = decodeTransform(response)
  assert.equal(header.sessionId, encryptingId)
  return answersIn(createDecryptor(CIPHER.aes128Ccm, KEYS.encryption).decrypt(header))[0]
}

test('a request encrypted with the keys of another session is refused', async () => {
  const client = await openClient()
  const owner = await logIn(client, OWNER)
  const ada = await logIn(client, ADA)
  assert.notEqual(owner.sessionId, ada.sessionId)
  const own = await createEncrypted(client, ada.sessionId, ada)
  assert.equal(own?.status, 'SUCCESS')
  const others = await createEncrypted(client, ada.sessionId, owner)
  assert.equal(others?.status, 'USER_SESSION_DELETED')
})

/** SESSION_SETUP with BINDING, signed with the key of the session. */
async function bind(sessionId: bigint, login: Login): Promise<Answer | undefined> {
  const client = await openClient()
  client.signer = createSigner(SIGNING.aesCmac, KEYS.signing)
  const setUp = async (token: Buffer) => {
    const body = sessionSetupBody(token, 1)
    body.writeUInt8(BINDING, FLAGS_OFFSET)
    client.sendSigned(client.next(COMMAND.SESSION_SETUP, body, { sessionId }))
    return (await client.answers())?.[0]
  }
  const challenge = await setUp(negotiateMessage())
  assert.equal(challenge?.status, 'MORE_PROCESSING_REQUIRED')
  return await setUp(authenticateMessage(challenge.message.subarray(72), login))
}

for (const [owner, binder, status] of [
  [ADA, ADA, 'SUCCESS'],
  [OWNER, OWNER, 'SUCCESS'],
  [OWNER, ADA, 'ACCESS_DENIED'],
  [ADA, OWNER, 'ACCESS_DENIED'],
] as const) {
  test(`binding a session of ${owner.user} as ${binder.user}: ${status}`, async () => {
    const { sessionId } = await logIn(await openClient(), owner)
    assert.equal((await bind(sessionId, binder))?.status, status)
  })
}
