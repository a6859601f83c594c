// Every command of SMB by clients that have not logged in, or have not connected to the share, and every way to log in that must fail. What
// needs a session gets none, and the share is as it was.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { COMMAND } from '../../src/smb/wire/header.ts'
import { ACCOUNT, ACCOUNT_KEY, sendTo } from '../harness.ts'
import { changesOf, stateOf } from '../hostile-store.ts'
import { runTestServer, type RunningTestServer } from '../running-server.ts'
import { negotiateMessage } from '../smb/ntlm-client.ts'
import { createBody, negotiateBody, RawClient, sessionSetupBody, SIMPLE_BODY, treeConnectBody } from '../smb/raw-client.ts' // prettier-ignore

const SHARE = 'mine'
const OTHER = { name: 'otheraccount', key: Buffer.alloc(32, 9).toString('base64') }
const ADA = { user: 'Ada', account: ACCOUNT, password: 'difference engine' }

let server: RunningTestServer
let state: Map<string, string>
const clients: RawClient[] = []

before(async () => {
  server = await runTestServer({
    silent: true,
    smbUsers: [ADA],
    accounts: { [ACCOUNT]: [ACCOUNT_KEY], [OTHER.name]: [OTHER.key] },
  })
  const files = sendTo(server.filePort)
  assert.equal((await files('PUT', `/${SHARE}?restype=share`)).status, 201)
  const file = { 'x-ms-type': 'file', 'x-ms-content-length': '100' }
  assert.equal((await files('PUT', `/${SHARE}/secret`, file)).status, 201)
  state = await stateOf(server.store)
})
after(async () => {
  for (const client of clients) client.close()
  assert.deepEqual(changesOf(state, await stateOf(server.store)), [])
  await server.close()
})

async function open(): Promise<RawClient> {
  const client = await RawClient.open(server.smbPort)
  clients.push(client)
  return client
}

async function negotiated(): Promise<RawClient> {
  const client = await open()
  assert.equal((await client.negotiate())?.status, 'SUCCESS')
  return client
}

async function loggedIn(user = ACCOUNT, password = ACCOUNT_KEY): Promise<RawClient> {
  const client = await open()
  assert.equal((await client.logIn(user, password))?.status, 'SUCCESS')
  return client
}

/** A half login has an id of a session, which is none yet. */
async function halfway(): Promise<RawClient> {
  const client = await negotiated()
  const body = sessionSetupBody(negotiateMessage(), 1)
  const first = await client.ask(COMMAND.SESSION_SETUP, body)
  assert.equal(first?.status, 'MORE_PROCESSING_REQUIRED')
  client.sessionId = first.header.sessionId
  return client
}

async function withWrongPassword(): Promise<RawClient> {
  const client = await negotiated()
  const failing = client.setUpSession(ACCOUNT, 'wrong')
  await endWaits(failing)
  assert.equal((await failing)?.status, 'LOGON_FAILURE')
  return client
}

/** The answer to a failed login is late: others are served until it has been sent. */
async function endWaits(failing: Promise<unknown>): Promise<void> {
  const bystander = await negotiated()
  const login = { isOver: false }
  void failing.finally(() => {
    login.isOver = true
  })
  while (!login.isOver) {
    server.endWaits()
    await bystander.ask(COMMAND.ECHO, SIMPLE_BODY)
  }
}

async function withSessionOfAnother(): Promise<RawClient> {
  const other = await loggedIn()
  assert.equal((await other.connectTree(SHARE))?.status, 'SUCCESS')
  const client = await negotiated()
  client.sessionId = other.sessionId
  client.treeId = other.treeId
  return client
}

async function withTreeOfAnother(): Promise<RawClient> {
  const other = await loggedIn()
  assert.equal((await other.connectTree(SHARE))?.status, 'SUCCESS')
  const client = await loggedIn(ADA.user, ADA.password)
  client.treeId = other.treeId
  return client
}

async function afterLogoff(): Promise<RawClient> {
  const client = await loggedIn()
  assert.equal((await client.connectTree(SHARE))?.status, 'SUCCESS')
  assert.equal((await client.ask(COMMAND.LOGOFF, SIMPLE_BODY))?.status, 'SUCCESS')
  return client
}

async function afterDisconnect(): Promise<RawClient> {
  const client = await loggedIn()
  assert.equal((await client.connectTree(SHARE))?.status, 'SUCCESS')
  assert.equal((await client.ask(COMMAND.TREE_DISCONNECT, SIMPLE_BODY))?.status, 'SUCCESS')
  return client
}

/** [MS-SMB2] 3.3.5.2.9, 3.3.5.2.11 */
const [NO_SESSION, NO_TREE] = ['USER_SESSION_DELETED', 'NETWORK_NAME_DELETED']

const STRANGERS: readonly [what: string, enter: () => Promise<RawClient>, refusal: string][] = [
  ['without a login', negotiated, NO_SESSION],
  ['in the middle of a login', halfway, NO_SESSION],
  ['after a wrong password', withWrongPassword, NO_SESSION],
  ["with the ids of another connection's session and tree", withSessionOfAnother, NO_SESSION],
  ['after a logoff', afterLogoff, NO_SESSION],
  ['logged in, without a tree', loggedIn, NO_TREE],
  ["logged in, with the id of another session's tree", withTreeOfAnother, NO_TREE],
  ['after a tree disconnect', afterDisconnect, NO_TREE],
]

/** What needs no session, or no tree ([MS-SMB2] 3.3.5.2.9 and .11: all but these). */
const FREE = ['NEGOTIATE', 'SESSION_SETUP', 'ECHO']
const TREELESS = ['LOGOFF', 'TREE_CONNECT']

/** The bodies are as good as they can be: what is refused is the client. */
function bodyOf(command: string): Buffer {
  if (command === 'TREE_CONNECT') return treeConnectBody(SHARE)
  if (command === 'CREATE') return createBody('secret', 1)
  return SIMPLE_BODY
}

describe('a client', () => {
  for (const [what, enter, refusal] of STRANGERS) {
    test(`${what} is refused every command: ${refusal}`, async () => {
      const client = await enter()
      const got = new Map<string, string | undefined>()
      for (const [name, command] of Object.entries(COMMAND)) {
        // CANCEL has no answer.
        if (FREE.includes(name) || name === 'CANCEL') continue
        if (refusal === NO_TREE && TREELESS.includes(name)) continue
        got.set(name, (await client.ask(command, bodyOf(name)))?.status)
      }
      const due = new Map([...got.keys()].map((name) => [name, refusal]))
      assert.deepEqual(got, due)
      assert(got.size >= 13, [...got.keys()].join())
      assert.equal((await client.ask(COMMAND.ECHO, SIMPLE_BODY))?.status, 'SUCCESS')
    })
  }

  test('without NEGOTIATE is disconnected by every other command', async () => {
    for (const [name, command] of Object.entries(COMMAND)) {
      // CANCEL is never answered.
      if (name === 'NEGOTIATE' || name === 'CANCEL') continue
      const client = await open()
      assert.equal(await client.ask(command, bodyOf(name)), undefined, name)
    }
  })

  test('cannot negotiate twice', async () => {
    const client = await loggedIn()
    assert.equal(await client.ask(COMMAND.NEGOTIATE, negotiateBody([0x0210])), undefined)
  })
})

for (const [what, user, password] of [
  ['nobody', '', ''],
  ['a guest', 'guest', ''],
  ['a guest of Windows', 'Guest', 'guest'],
  ['an account without a password', ACCOUNT, ''],
  ["an account with another account's key", ACCOUNT, OTHER.key],
  ['an SMB user without a password', ADA.user, ''],
  ["an SMB user with the account's key", ADA.user, ACCOUNT_KEY],
  ["an account with a user's password", ACCOUNT, ADA.password],
] as const) {
  test(`there is no login as ${what}`, async () => {
    const client = await negotiated()
    const failing = client.setUpSession(user, password)
    await endWaits(failing)
    const answer = await failing
    assert.equal(answer?.status, 'LOGON_FAILURE')
    assert.equal((await client.connectTree(SHARE))?.status, NO_SESSION)
  })
}

for (const [what, user, password, status] of [
  ['the account', ACCOUNT, ACCOUNT_KEY, 'SUCCESS'],
  ['a user of the account', ADA.user, ADA.password, 'SUCCESS'],
  ['another account', OTHER.name, OTHER.key, 'BAD_NETWORK_NAME'],
] as const) {
  test(`the share, connected to by ${what}: ${status}`, async () => {
    const client = await loggedIn(user, password)
    assert.equal((await client.connectTree(SHARE))?.status, status)
  })
}
