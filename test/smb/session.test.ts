// Connections, logins, sessions, trees, chains and credits, message by message. smbtorture covers bindings, ciphers and
// re-authentication; these tests send what no well-behaved client sends.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { DIALECT } from '../../src/smb/session/dialect.ts'
import { COMMAND, HEADER_FLAG } from '../../src/smb/wire/header.ts'
import { ACCOUNT, ACCOUNT_KEY, rawRequest } from '../harness.ts'
import { runTestServer, type RunningTestServer } from '../running-server.ts'
import {
  closeBody,
  createBody,
  isAnswerSigned,
  negotiateBody,
  RawClient,
  request,
  SIMPLE_BODY,
  treeConnectBody,
  type Answer,
} from './raw-client.ts'

const SIGNING_REQUIRED = 3

let server: RunningTestServer
const clients: RawClient[] = []

before(async () => {
  server = await runTestServer({ silent: true, logLevel: 'error' })
  await onShare('PUT', 'box')
})
after(async () => {
  for (const client of clients) client.close()
  await server.close()
  assert.equal(server.logged(), '')
})

async function onShare(method: string, share: string): Promise<void> {
  const place = { blobPort: server.filePort }
  const { status } = await rawRequest(place, { method, path: `/${share}?restype=share` })
  assert(status < 300)
}

async function openClient(): Promise<RawClient> {
  const client = await RawClient.open(server.smbPort)
  clients.push(client)
  return client
}

async function loggedIn(securityMode = 1): Promise<RawClient> {
  const client = await openClient()
  const answer = await client.logIn(ACCOUNT, ACCOUNT_KEY, securityMode)
  assert.equal(answer?.status, 'SUCCESS')
  assert(isAnswerSigned(answer), 'the last response of a login is signed')
  assert.equal(client.signer?.check(answer.message), true)
  return client
}

async function onTree(securityMode = 1): Promise<RawClient> {
  const client = await loggedIn(securityMode)
  const message = client.next(COMMAND.TREE_CONNECT, treeConnectBody('box'))
  client.send(client.sign(message))
  const [answer] = (await client.answers()) ?? []
  assert.equal(answer?.status, 'SUCCESS')
  client.treeId = answer.header.treeId
  return client
}

const statuses = (answers: readonly Answer[] | undefined) => answers?.map(({ status }) => status)

const DIALECTS: readonly (readonly [string, readonly number[], string, number])[] = [
  ['the best of several', [0x0202, 0x0210, 0x0300, 0x0302], 'SUCCESS', DIALECT.smb302],
  ['2.1', [0x0202, 0x0210], 'SUCCESS', DIALECT.smb210],
  ['2.0.2', [0x0202], 'SUCCESS', DIALECT.smb202],
  ['only unknown dialects', [0x0100, 0x0400], 'NOT_SUPPORTED', 0],
  ['no dialect', [], 'INVALID_PARAMETER', 0],
  ['3.1.1 without contexts', [0x0311], 'INVALID_PARAMETER', 0],
]

for (const [what, dialects, status, dialect] of DIALECTS) {
  test(`NEGOTIATE: ${what} → ${status}`, async () => {
    const client = await openClient()
    const answer = await client.negotiate(dialects)
    assert.equal(answer?.status, status)
    if (dialect !== 0) assert.equal(answer.message.readUInt16LE(64 + 4), dialect)
  })
}

/** An SMB1 NEGOTIATE that offers these dialects. */
function smb1Negotiate(...names: readonly string[]): Buffer {
  const list = Buffer.from(names.map((name) => `\u0002${name}\0`).join(''), 'latin1')
  const message = Buffer.concat([Buffer.alloc(35), list])
  message.write('\xffSMB\x72', 'latin1')
  message.writeUInt16LE(list.length, 33)
  const prefix = Buffer.alloc(4)
  prefix.writeUInt32BE(message.length)
  return Buffer.concat([prefix, message])
}

test('an SMB1 NEGOTIATE with SMB 2.??? is answered with the SMB2 wildcard', async () => {
  const client = await openClient()
  client.write(smb1Negotiate('NT LM 0.12', 'SMB 2.002', 'SMB 2.???'))
  const [answer] = (await client.answers()) ?? []
  assert.equal(answer?.message.readUInt16LE(64 + 4), 0x02ff)
  client.nextMessageId = 1n
  assert.equal((await client.negotiate([0x0210]))?.status, 'SUCCESS')
})

test('an SMB1 NEGOTIATE with SMB 2.002 selects 2.0.2 at once', async () => {
  const client = await openClient()
  client.write(smb1Negotiate('NT LM 0.12', 'SMB 2.002'))
  const [answer] = (await client.answers()) ?? []
  assert.equal(answer?.message.readUInt16LE(64 + 4), 0x0202)
  client.nextMessageId = 1n
  assert.equal((await client.setUpSession(ACCOUNT, ACCOUNT_KEY))?.status, 'SUCCESS')
})

const ENDS: readonly (readonly [string, (client: RawClient) => void])[] = [
  ['SMB1 alone', (client) => client.write(smb1Negotiate('NT LM 0.12'))],
  ['a command before NEGOTIATE', (client) => client.send(client.next(COMMAND.ECHO, SIMPLE_BODY))],
  ['an unknown protocol', (client) => client.write(Buffer.from('00000004deadbeef', 'hex'))],
  ['a NetBIOS session request', (client) => client.write(Buffer.from('8100004420', 'hex'))],
  ['a frame of 1 MiB before a login', (client) => client.write(Buffer.from('00100000', 'hex'))],
  [
    'a message id that was not granted',
    (client) => client.send(request(COMMAND.NEGOTIATE, negotiateBody([0x0210]), { messageId: 1n })),
  ],
  [
    'NEGOTIATE twice',
    (client) => {
      client.send(client.next(COMMAND.NEGOTIATE, negotiateBody([0x0210])))
      client.send(client.next(COMMAND.NEGOTIATE, negotiateBody([0x0210])))
    },
  ],
  [
    'a chain whose parts overlap',
    (client) => {
      const message = client.next(COMMAND.NEGOTIATE, negotiateBody([0x0210]))
      const frame = Buffer.concat([Buffer.from([0, 0, 0, message.length]), message])
      frame.writeUInt32LE(8, 4 + 20)
      client.write(frame)
    },
  ],
  ['encrypted by an unknown session', (client) => client.write(sealedByNobody())],
]

function sealedByNobody(): Buffer {
  const frame = Buffer.alloc(4 + 52 + 64)
  frame.writeUInt32BE(52 + 64)
  frame.write('\xfdSMB', 4, 'latin1')
  frame.writeUInt32LE(64, 4 + 36)
  frame.writeUInt16LE(1, 4 + 42)
  return frame
}

for (const [what, send] of ENDS) {
  test(`the connection ends: ${what}`, async () => {
    const client = await openClient()
    send(client)
    assert(await client.hasEnded())
  })
}

test('a message id can be used only once', async () => {
  const client = await loggedIn()
  const echo = client.next(COMMAND.ECHO, SIMPLE_BODY)
  client.send(echo)
  assert.deepEqual(statuses(await client.answers()), ['SUCCESS'])
  client.send(echo)
  assert(await client.hasEnded())
})

test('a message id can be skipped and used later', async () => {
  const client = await loggedIn()
  const [first, second] = [0, 1].map(() => client.next(COMMAND.ECHO, SIMPLE_BODY))
  assert(first && second)
  client.send(second)
  assert.deepEqual(statuses(await client.answers()), ['SUCCESS'])
  client.send(first)
  assert.deepEqual(statuses(await client.answers()), ['SUCCESS'])
})

const UNKNOWN: readonly (readonly [string, number, object, string])[] = [
  ['session', COMMAND.TREE_DISCONNECT, { sessionId: 99n }, 'USER_SESSION_DELETED'],
  ['tree', COMMAND.TREE_DISCONNECT, { treeId: 99 }, 'NETWORK_NAME_DELETED'],
  ['command', 0x77, {}, 'INVALID_PARAMETER'],
  ['signer', COMMAND.ECHO, { sessionId: 99n, flags: 8 }, 'USER_SESSION_DELETED'],
  ['signature', COMMAND.ECHO, { flags: 8 }, 'ACCESS_DENIED'],
  ['related part', COMMAND.ECHO, { flags: 4 }, 'INVALID_PARAMETER'],
]

for (const [what, command, fields, status] of UNKNOWN) {
  test(`unknown ${what} → ${status}`, async () => {
    const client = await onTree()
    assert.equal((await client.ask(command, SIMPLE_BODY, fields))?.status, status)
  })
}

test('share names are not case-sensitive, and unknown ones are refused', async () => {
  const client = await loggedIn()
  for (const [share, status] of [
    ['BOX', 'SUCCESS'],
    ['ipc$', 'SUCCESS'],
    ['no', 'BAD_NETWORK_NAME'],
    ['x'.repeat(9_000), 'BAD_NETWORK_NAME'],
    ['box\\inside', 'BAD_NETWORK_NAME'],
  ] as const) {
    assert.equal((await client.connectTree(share))?.status, status, share.slice(0, 20))
  }
})

test('the response is signed if the request is', async () => {
  const client = await onTree()
  client.send(client.sign(client.next(COMMAND.ECHO, SIMPLE_BODY)))
  const [signed] = (await client.answers()) ?? []
  assert(signed && isAnswerSigned(signed))
  assert.equal(client.signer?.check(signed.message), true)
  const unsigned = await client.ask(COMMAND.ECHO, SIMPLE_BODY)
  assert(unsigned && !isAnswerSigned(unsigned))
})

test('unsigned requests are refused if the client requires signing', async () => {
  const client = await onTree(SIGNING_REQUIRED)
  const answer = await client.ask(COMMAND.TREE_DISCONNECT, SIMPLE_BODY)
  assert.equal(answer?.status, 'ACCESS_DENIED')
})

test('LOGOFF ends the session, and its response is still signed', async () => {
  const client = await onTree()
  client.send(client.sign(client.next(COMMAND.LOGOFF, SIMPLE_BODY)))
  const [answer] = (await client.answers()) ?? []
  assert(answer && isAnswerSigned(answer))
  const deleted = await client.ask(COMMAND.LOGOFF, SIMPLE_BODY)
  assert.equal(deleted?.status, 'USER_SESSION_DELETED')
})

test('a chain opens and closes a file, and its last response grants the credits', async () => {
  const client = await onTree()
  const related = { flags: HEADER_FLAG.related, credits: 5 }
  client.send(
    client.next(COMMAND.CREATE, createBody('chain'), { credits: 5 }),
    client.next(COMMAND.CLOSE, closeBody(), related),
    client.next(COMMAND.CLOSE, closeBody(), related),
  )
  const answers = await client.answers()
  assert.deepEqual(statuses(answers), ['SUCCESS', 'SUCCESS', 'FILE_CLOSED'])
  assert.deepEqual(
    answers?.map(({ header }) => header.credits),
    [0, 0, 15],
  )
})

test('in a chain, parts related to a failed CREATE fail with the same status, others do not', async () => {
  const client = await onTree()
  client.send(
    client.next(COMMAND.CREATE, createBody('missing', 1)),
    client.next(COMMAND.CLOSE, closeBody(), { flags: HEADER_FLAG.related }),
    client.next(COMMAND.ECHO, SIMPLE_BODY),
  )
  const expected = ['OBJECT_NAME_NOT_FOUND', 'OBJECT_NAME_NOT_FOUND', 'SUCCESS']
  assert.deepEqual(statuses(await client.answers()), expected)
})

test('in a chain, a TREE_CONNECT sets the tree of the following parts', async () => {
  const client = await loggedIn()
  const related = { flags: HEADER_FLAG.related }
  client.send(
    client.next(COMMAND.TREE_CONNECT, treeConnectBody('box')),
    client.next(COMMAND.CREATE, createBody(''), related),
  )
  // The root is a directory.
  assert.deepEqual(statuses(await client.answers()), ['SUCCESS', 'FILE_IS_A_DIRECTORY'])
})

test('deleting a share ends its trees', async () => {
  await onShare('PUT', 'gone')
  const client = await loggedIn()
  assert.equal((await client.connectTree('gone'))?.status, 'SUCCESS')
  await onShare('DELETE', 'gone')
  const answer = await client.ask(COMMAND.CREATE, createBody('file'))
  assert.equal(answer?.status, 'NETWORK_NAME_DELETED')
})

test('connections without a login time out, those with one may be idle', async () => {
  const [idle, busy] = [await openClient(), await loggedIn()]
  await idle.negotiate()
  server.endWaits()
  server.endWaits()
  assert(await idle.hasEnded())
  assert.equal((await busy.ask(COMMAND.ECHO, SIMPLE_BODY))?.status, 'SUCCESS')
})
