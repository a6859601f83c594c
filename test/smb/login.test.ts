// Failed and unfinished logins: the response and its delay, the log and the metrics, and the limits on memory before a
// login.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { LOGIN_OUTCOMES } from '../../src/smb/session/login-report.ts'
import { COMMAND } from '../../src/smb/wire/header.ts'
import { ACCOUNT, ACCOUNT_KEY } from '../harness.ts'
import { runTestServer, type RunningTestServer } from '../running-server.ts'
import { negotiateMessage } from './ntlm-client.ts'
import {
  isAnswerSigned,
  RawClient,
  sessionSetupBody,
  SIMPLE_BODY,
  type Answer,
} from './raw-client.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

let server: RunningTestServer
let bystander: RawClient
const clients: RawClient[] = []

before(async () => {
  const smbUsers = [{ user: 'Ada', account: ACCOUNT, password: 'difference engine' }]
  server = await runTestServer({ silent: false, logLevel: 'info', smbUsers })
  bystander = await openClient()
  await bystander.logIn(ACCOUNT, ACCOUNT_KEY)
})
after(async () => {
  for (const client of clients) client.close()
  await server.close()
  assert.doesNotMatch(server.logged(), / error: /)
})

async function openClient(): Promise<RawClient> {
  const client = await RawClient.open(server.smbPort)
  clients.push(client)
  return client
}

async function negotiated(): Promise<RawClient> {
  const client = await openClient()
  assert.equal((await client.negotiate())?.status, 'SUCCESS')
  return client
}

async function begin(client: RawClient): Promise<Answer> {
  const body = sessionSetupBody(negotiateMessage(), 1)
  const answer = await client.ask(COMMAND.SESSION_SETUP, body, { sessionId: 0n })
  assert.equal(answer?.status, 'MORE_PROCESSING_REQUIRED')
  return answer
}

async function count(outcome: string): Promise<number> {
  const { text } = await server.metrics.expose()
  const line = text
    .split('\n')
    .find((each) => each.startsWith(`lazuli_smb_logins_total{outcome="${outcome}"}`))
  assert(line, `there is a count of ${outcome}`)
  return Number(line.slice(line.lastIndexOf(' ')))
}

async function othersAreServed(): Promise<void> {
  assert.equal((await bystander.ask(COMMAND.ECHO, SIMPLE_BODY))?.status, 'SUCCESS')
}

/** Sends requests of another client until the server has counted the outcome. */
async function whenCounted(outcome: string, atLeast: number): Promise<void> {
  for (let turn = 0; (await count(outcome)) < atLeast; turn += 1) {
    assert(turn < 1_000, `${outcome} is counted`)
    await othersAreServed()
  }
  await othersAreServed()
}

for (const [outcome, user, password] of [
  ['password', ACCOUNT, 'd3Jvbmc='],
  ['password', ACCOUNT, 'difference engine'],
  ['password', 'ada', 'analytical engine'],
  ['password', 'ada', ACCOUNT_KEY],
  ['user', 'nobody', ACCOUNT_KEY],
  ['user', 'grace', 'difference engine'],
] as const) {
  test(`a failed login of ${user} with ${password} is answered late and without the reason`, async () => {
    const before = await count(outcome)
    const client = await negotiated()
    client.sendProof(await begin(client), { user, password })
    await whenCounted(outcome, before + 1)
    assert.equal(client.waitingCount, 0, 'there is no early response')
    server.endWaits()
    const [answer] = (await client.answers()) ?? []
    assert.equal(answer?.status, 'LOGON_FAILURE')
    assert(!isAnswerSigned(answer))
    assert.equal((await client.setUpSession(ACCOUNT, ACCOUNT_KEY))?.status, 'SUCCESS')
  })
}

test('further logins on a connection wait for the delayed response to a failed one', async () => {
  const before = await count('password')
  const client = await negotiated()
  const [first, second] = [await begin(client), await begin(client)]
  client.sendProof(first, { user: ACCOUNT, password: 'wrong' })
  client.sendProof(second, { user: ACCOUNT, password: 'wrong, too' })
  await whenCounted('password', before + 1)
  assert.equal(await count('password'), before + 1, 'the second guess waits')
  server.endWaits()
  assert.equal((await client.answers())?.[0]?.status, 'LOGON_FAILURE')
  await whenCounted('password', before + 2)
  client.close()
})

test('requests of a logged-in session continue while another login is delayed', async () => {
  const before = await count('password')
  const client = await negotiated()
  await client.setUpSession(ACCOUNT, ACCOUNT_KEY)
  for (let login = 0; login < 4; login += 1) {
    client.sendProof(await begin(client), { user: ACCOUNT, password: 'wrong' })
  }
  await whenCounted('password', before + 4)
  assert.equal((await client.ask(COMMAND.ECHO, SIMPLE_BODY))?.status, 'SUCCESS')
  const body = sessionSetupBody(negotiateMessage(), 1)
  const fifth = await client.ask(COMMAND.SESSION_SETUP, body, { sessionId: 0n })
  assert.equal(fifth?.status, 'INSUFFICIENT_RESOURCES', 'four are under way')
  server.endWaits()
  for (let login = 0; login < 4; login += 1) {
    assert.equal((await client.answers())?.[0]?.status, 'LOGON_FAILURE')
  }
  await begin(client)
})

test('a connection that ends before the delayed response leaves nothing behind', async () => {
  const before = await count('password')
  const client = await negotiated()
  client.sendProof(await begin(client), { user: ACCOUNT, password: 'wrong' })
  await whenCounted('password', before + 1)
  client.close()
  assert(await client.hasEnded())
  await othersAreServed()
  server.endWaits()
  await othersAreServed()
})

test('a connection can have four unfinished logins', async () => {
  const before = await count('tooMany')
  const client = await negotiated()
  for (let login = 0; login < 4; login += 1) await begin(client)
  const body = sessionSetupBody(negotiateMessage(), 1)
  const fifth = await client.ask(COMMAND.SESSION_SETUP, body, { sessionId: 0n })
  assert.equal(fifth?.status, 'INSUFFICIENT_RESOURCES')
  assert.equal(await count('tooMany'), before + 1)
})

test('a token of more than 8 KiB is refused', async () => {
  const before = await count('malformed')
  const client = await negotiated()
  const token = Buffer.concat([negotiateMessage(), Buffer.alloc(8 * 1024)])
  const answer = await client.ask(COMMAND.SESSION_SETUP, sessionSetupBody(token, 1))
  assert.equal(answer?.status, 'INVALID_PARAMETER')
  assert.equal(await count('malformed'), before + 1)
})

test('before a login a frame is limited to 64 KiB', async () => {
  const client = await negotiated()
  client.write(Buffer.from('00010001', 'hex'))
  assert(await client.hasEnded())
})

const heldBytes = (): number => {
  collect()
  return process.memoryUsage().arrayBuffers
}

test('connections without a login use at most 64 MiB together', async () => {
  const beforeBytes = heldBytes()
  const token = Buffer.concat([negotiateMessage(), Buffer.alloc(8 * 1024 - 64)])
  const half = Buffer.concat([Buffer.from('0000f800', 'hex'), Buffer.alloc(60 * 1024)])
  const strangers: RawClient[] = []
  for (let stranger = 0; stranger < 1_000; stranger += 1) {
    const client = await negotiated()
    for (let login = 0; login < 4; login += 1) {
      await client.ask(COMMAND.SESSION_SETUP, sessionSetupBody(token, 1), { sessionId: 0n })
    }
    // An incomplete frame.
    client.write(half)
    strangers.push(client)
  }
  // Without the limit it would be 95 MiB. Both ends of each connection are in this process, but the clients use almost
  // no memory. The memory of dropped connections is freed some turns later.
  const grownBytes = (): number => heldBytes() - beforeBytes
  const bytesMax = 70 * 1024 * 1024
  for (let turn = 0; turn < 500 && grownBytes() >= bytesMax; turn += 1) await othersAreServed()
  assert(grownBytes() < bytesMax, `${grownBytes()} bytes more`)
  const honest = await negotiated()
  assert.equal((await honest.setUpSession(ACCOUNT, ACCOUNT_KEY))?.status, 'SUCCESS')
  for (const client of strangers) client.close()
})

test('the log has the user, the address and the reason of a refused login; the metrics have no names', async () => {
  const client = await negotiated()
  const name = `\u001b[31m${'x'.repeat(100)}\n`
  client.sendProof(await begin(client), { user: name, password: 'wrong' })
  await whenCounted('user', 3)
  const { text } = await server.metrics.expose()
  const labels = text.matchAll(/lazuli_smb_logins_total\{outcome="([^"]*)"\}/g)
  assert.deepEqual(new Set([...labels].map(([, outcome]) => outcome)), new Set(LOGIN_OUTCOMES))
  await server.close()
  const lines = server.logged().split('\n')
  const refused = lines.filter((line) => line.includes('SMB login refused'))
  assert(lines.some((line) => line.endsWith(`info: SMB login user=${ACCOUNT} client=127.0.0.1`)))
  const wrong = `user=${ACCOUNT} client=127.0.0.1 reason=the password was wrong, or it used NTLMv1`
  assert(refused.some((line) => line.endsWith(`warn: SMB login refused ${wrong}`)))
  const logged = `user=?[31m${'x'.repeat(59)}… client=127.0.0.1 reason=the user does not exist`
  assert(refused.some((line) => line.endsWith(logged)))
})
