// Compounds with a part that has to wait, message by message: those with which Linux renames a file (CREATE, SET_INFO,
// CLOSE) while it is open and cached, and the same for every other command that can wait or breaks the leases of others
// ([MS-SMB2] 3.3.5.2.7.2, 3.3.4.2, 3.3.4.4).
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import { CIPHER, DIALECT, SIGNING } from '../../src/smb/session/dialect.ts'
import { deriveSessionKeys } from '../../src/smb/session/key.ts'
import { createSigner } from '../../src/smb/session/sign.ts'
import {
  createDecryptor,
  createEncryptor,
  decodeTransform,
} from '../../src/smb/session/transform.ts'
import { encodeFramePrefix } from '../../src/smb/wire/frame.ts'
import { COMMAND, HEADER_FLAG, joinCompound } from '../../src/smb/wire/header.ts'
import { ACCOUNT, ACCOUNT_KEY } from '../harness.ts'
import { openRestAndSmb } from './rest-and-smb.ts'
import {
  ACCESS,
  createBody,
  decodeCreated,
  DISPOSITION,
  LEASE,
  OPLOCK,
  OPTION,
  readBody,
  writeBody,
  type OpenTerms,
} from './client-message.ts'
import {
  acknowledgeBody,
  changeNotifyBody,
  copyChunkBytes,
  decodeBreak,
  FILE_CLASS,
  FSCTL,
  INFO_TYPE,
  ioctlBody,
  LOCK,
  lockBody,
  renameBytes,
  setInfoBody,
} from './client-message-info.ts'
import { SESSION_KEY } from './ntlm-client.ts'
import {
  answersIn,
  closeBody,
  isAnswerSigned,
  RawClient,
  SIMPLE_BODY,
  type Answer,
} from './raw-client.ts'
import type { SmbClient } from './smb-client.ts'
import type { SmbFile } from './smb-file.ts'

/** All ones: the file that the previous part has opened. */
const SAME = Buffer.alloc(16, 0xff)
const RENAMES = { access: ACCESS.delete | ACCESS.readAttributes }
const WRITES = { access: ACCESS.read | ACCESS.write }
const ALL = { access: ACCESS.all }

const clients: RawClient[] = []
// Registered first, since openRestAndSmb closes the server.
after(() => {
  for (const client of clients) client.close()
})
const world = await openRestAndSmb()
let fileCount = 0

type Body = readonly [command: number, body: Buffer]

const create = (name: string, terms: OpenTerms): Body => [COMMAND.CREATE, createBody(name, terms)]
const close: Body = [COMMAND.CLOSE, closeBody()]
const setInfo = (kind: number, bytes: Buffer): Body => [
  COMMAND.SET_INFO,
  setInfoBody(SAME, INFO_TYPE.file, kind, bytes),
]
const renameTo = (name: string, replaces = false): Body =>
  setInfo(FILE_CLASS.rename, renameBytes(name, replaces))
const write = (text: string): Body => [COMMAND.WRITE, writeBody(SAME, 0, Buffer.from(text))]
const lock = (flags: number): Body => [COMMAND.LOCK, lockBody(SAME, 0, 1, flags)]
const sizeBytes = (size: number): Buffer => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(size))
  return bytes
}

async function openRaw(): Promise<RawClient> {
  const client = await RawClient.open(world.server.smbPort)
  client.clientGuid = randomBytes(16)
  clients.push(client)
  return client
}

async function rawClient(): Promise<RawClient> {
  const client = await openRaw()
  assert.equal((await client.logIn(ACCOUNT, ACCOUNT_KEY))?.status, 'SUCCESS')
  const { status } = (await client.connectTree('world')) ?? {}
  assert.equal(status, 'SUCCESS')
  return client
}

/** Sends signed messages, related except for the first; returns their ids. */
function sendChain(client: RawClient, parts: readonly Body[]): readonly bigint[] {
  const first = client.nextMessageId
  client.sendSigned(
    ...parts.map(([command, body], index) =>
      client.next(command, body, { flags: index === 0 ? 0 : HEADER_FLAG.related, credits: 3 }),
    ),
  )
  return parts.map((_part, index) => first + BigInt(index))
}

async function nextFrame(client: RawClient): Promise<readonly Answer[]> {
  const answers = await client.answers()
  assert(answers, 'the connection has ended')
  return answers
}

const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status)

/** The responses to the parts before the waiting one, and the interim responses. */
async function untilPending(client: RawClient, waitingCount: number) {
  const frames = [await nextFrame(client)]
  while (frames.flat().filter(({ status }) => status === 'PENDING').length < waitingCount) {
    frames.push(await nextFrame(client))
  }
  const answers = frames.flat()
  const interim = answers.filter(({ status }) => status === 'PENDING')
  for (const each of interim) {
    assert(!isAnswerSigned(each), 'an interim response is not signed')
    assert.equal(each.header.nextCommand, 0, 'an interim response is in a frame of its own')
    assert.equal(each.header.credits, 3, 'an interim response grants the credits of its request')
  }
  return { done: answers.filter(({ status }) => status !== 'PENDING'), interim }
}

/** Late responses repeat their AsyncId, are signed, and grant no credits again. */
async function lateAnswers(client: RawClient, interim: readonly Answer[]) {
  const answers = await nextFrame(client)
  assert.deepEqual(
    answers.map(({ header }) => [header.messageId, header.asyncId, header.credits]),
    interim.map(({ header }) => [header.messageId, header.asyncId, 0]),
  )
  for (const answer of answers) assert.equal(client.signer?.check(answer.message), true)
  return answers
}

type Held = {
  readonly name: string
  readonly holder: SmbClient
  readonly handle: SmbFile
}

const leaseOf = (state: number): OpenTerms => ({ ...ALL, lease: { key: randomBytes(16), state } })

/** A new file that another client has open and caches. */
async function held(terms: OpenTerms, directory = ''): Promise<Held> {
  const name = `${directory}file${++fileCount}`
  const holder = await world.smb()
  const handle = await holder.open(name, { ...terms, disposition: DISPOSITION.openIf })
  await handle.write(0, 'content')
  return { name, holder, handle }
}

async function acknowledgeNext({ holder }: Held): Promise<void> {
  await holder.acknowledge(await holder.nextBreak())
}

type WaitingCase = {
  readonly what: string
  readonly terms: OpenTerms
  parts(held: Held): Promise<readonly Body[]> | readonly Body[]
  /** The number of parts that are answered before the wait. */
  readonly answeredCount: number
  readonly outcome: readonly string[]
  /** Lets the compound continue; acknowledges the break if left out. */
  release?(held: Held): Promise<void>
}

async function newDirectory(): Promise<string> {
  const name = `directory${++fileCount}`
  await world.share.getDirectoryClient(name).create()
  return name
}

/** Renames a new file to the name of the held one. */
async function renameOver({ name }: Held): Promise<readonly Body[]> {
  const client = await world.smb()
  const terms = { ...ALL, disposition: DISPOSITION.create }
  await (await client.open(`${name}-source`, terms)).close()
  return [create(`${name}-source`, RENAMES), renameTo(name, true), close]
}

const WAITING: readonly WaitingCase[] = [
  {
    what: 'CREATE that breaks a batch oplock',
    terms: { ...ALL, oplock: OPLOCK.batch },
    parts: ({ name }) => [create(name, WRITES), write('later'), close],
    answeredCount: 0,
    outcome: ['SUCCESS', 'SUCCESS', 'SUCCESS'],
  },
  {
    what: 'CREATE that breaks a lease, with an overwrite',
    terms: leaseOf(LEASE.RWH),
    parts: ({ name }) => [
      create(name, { ...ALL, disposition: DISPOSITION.overwrite }),
      write('later'),
      close,
    ],
    answeredCount: 0,
    outcome: ['SUCCESS', 'SUCCESS', 'SUCCESS'],
  },
  {
    what: 'SET_INFO that renames an open file',
    terms: leaseOf(LEASE.RH),
    parts: ({ name }) => [create(name, RENAMES), renameTo(`${name}-renamed`), close],
    answeredCount: 1,
    outcome: ['SUCCESS', 'SUCCESS'],
  },
  {
    what: 'SET_INFO that renames over an open file',
    terms: leaseOf(LEASE.RH),
    parts: renameOver,
    answeredCount: 1,
    outcome: ['ACCESS_DENIED', 'SUCCESS'],
  },
  {
    what: 'SET_INFO that renames over a file that is closed on the break',
    terms: leaseOf(LEASE.RH),
    parts: renameOver,
    answeredCount: 1,
    outcome: ['SUCCESS', 'SUCCESS'],
    release: async ({ holder, handle }) => {
      await holder.nextBreak()
      await handle.close()
    },
  },
  {
    what: 'SET_INFO that deletes an open file',
    terms: leaseOf(LEASE.RH),
    parts: ({ name }) => [
      create(name, RENAMES),
      setInfo(FILE_CLASS.disposition, Buffer.of(1)),
      setInfo(FILE_CLASS.disposition, Buffer.of(0)),
      close,
    ],
    answeredCount: 1,
    outcome: ['SUCCESS', 'SUCCESS', 'SUCCESS'],
  },
  {
    what: 'LOCK',
    terms: ALL,
    parts: ({ name }) => [create(name, WRITES), lock(LOCK.waiting), write('later'), close],
    answeredCount: 1,
    outcome: ['SUCCESS', 'SUCCESS', 'SUCCESS'],
    release: ({ handle }) => handle.unlock(0, 1),
  },
]

for (const { what, terms, parts, answeredCount, outcome, release = acknowledgeNext } of WAITING) {
  test(`a waiting part delays those after it: ${what}`, async () => {
    const file = await held(terms)
    if (what === 'LOCK') await file.handle.lock(0, 1)
    const client = await rawClient()
    sendChain(client, await parts(file))
    const { done, interim } = await untilPending(client, outcome.length)
    assert.deepEqual(statuses(done), Array<string>(answeredCount).fill('SUCCESS'))
    assert.equal(new Set(interim.map(({ header }) => header.asyncId)).size, outcome.length)
    await release(file)
    assert.deepEqual(statuses(await lateAnswers(client, interim)), outcome)
    assert.equal((await client.ask(COMMAND.ECHO, SIMPLE_BODY))?.status, 'SUCCESS')
  })
}

test('a directory with an open file inside is renamed only after the file is closed', async () => {
  const directory = await newDirectory()
  const file = await held(leaseOf(LEASE.RH), `${directory}/`.replace('/', '\\'))
  const client = await rawClient()
  const rename = [create(directory, RENAMES), renameTo(`${directory}-renamed`), close]
  sendChain(client, rename)
  const first = await untilPending(client, 2)
  await acknowledgeNext(file)
  assert.deepEqual(statuses(await lateAnswers(client, first.interim)), ['ACCESS_DENIED', 'SUCCESS'])
  await file.handle.close()
  sendChain(client, rename)
  assert.deepEqual(statuses(await nextFrame(client)), ['SUCCESS', 'SUCCESS', 'SUCCESS'])
})

test('the holder of the lease can acknowledge over the connection that waits', async () => {
  const name = `file${++fileCount}`
  const client = await rawClient()
  const opens = { ...leaseOf(LEASE.RH), disposition: DISPOSITION.create }
  const opened = await client.ask(COMMAND.CREATE, createBody(name, opens))
  assert.equal(opened?.status, 'SUCCESS')
  sendChain(client, [create(name, RENAMES), renameTo(`${name}-renamed`), close])
  // The response to CREATE, the break, and two interim responses.
  const received: Answer[] = []
  while (received.length < 4) received.push(...(await nextFrame(client)))
  const notification = received.find(({ header }) => header.command === COMMAND.OPLOCK_BREAK)
  assert(notification)
  client.sendSigned(
    client.next(COMMAND.OPLOCK_BREAK, acknowledgeBody(decodeBreak(notification.message))),
  )
  const rest = [...(await nextFrame(client)), ...(await nextFrame(client))]
  assert.deepEqual(statuses(rest).sort(), ['SUCCESS', 'SUCCESS', 'SUCCESS'])
  const { fileId } = decodeCreated(opened.message)
  assert.equal((await client.ask(COMMAND.CLOSE, closeBody(fileId)))?.status, 'SUCCESS')
})

/** Commands that break read leases of others without waiting. */
const BREAKING: readonly (readonly [what: string, ...parts: readonly Body[]])[] = [
  ['WRITE', write('later')],
  ['SET_INFO of the length', setInfo(FILE_CLASS.endOfFile, sizeBytes(3))],
  ['SET_INFO of the allocation', setInfo(FILE_CLASS.allocation, sizeBytes(0))],
  ['LOCK', lock(LOCK.waiting), lock(LOCK.unlock)],
  [
    'IOCTL that writes zeros',
    [COMMAND.IOCTL, ioctlBody(SAME, FSCTL.setZero, Buffer.concat([sizeBytes(0), sizeBytes(4)]))],
  ],
]

for (const [what, ...parts] of BREAKING) {
  test(`a part that breaks a read lease does not wait: ${what}`, async () => {
    const file = await held(leaseOf(LEASE.R))
    const client = await rawClient()
    sendChain(client, [create(file.name, WRITES), ...parts, close])
    const answers = await nextFrame(client)
    assert.deepEqual(statuses(answers), Array<string>(parts.length + 2).fill('SUCCESS'))
    for (const answer of answers) assert.equal(client.signer?.check(answer.message), true)
    const broken = await file.holder.nextBreak()
    assert(broken.kind === 'lease' && !broken.isAcknowledged)
  })
}

test('IOCTL copies chunks to a file that others have cached', async () => {
  const source = await held(ALL)
  const target = await held(leaseOf(LEASE.R))
  const client = await rawClient()
  const opened = await client.ask(COMMAND.CREATE, createBody(source.name, WRITES))
  assert(opened)
  const { fileId } = decodeCreated(opened.message)
  const resumeKey = await client.ask(COMMAND.IOCTL, ioctlBody(fileId, FSCTL.requestResumeKey))
  assert.equal(resumeKey?.status, 'SUCCESS')
  const input = copyChunkBytes(resumeKey.message.subarray(64 + 48), 7)
  sendChain(client, [
    create(target.name, WRITES),
    [COMMAND.IOCTL, ioctlBody(SAME, FSCTL.copyChunkWrite, input)],
    [COMMAND.READ, readBody(SAME, 0, 7)],
    close,
  ])
  assert.deepEqual(statuses(await nextFrame(client)), Array<string>(4).fill('SUCCESS'))
  assert.equal((await target.holder.nextBreak()).to, LEASE.none)
})

test("OPLOCK_BREAK as part of a compound lets another client's compound continue", async () => {
  const name = `file${++fileCount}`
  const [owner, other] = [await rawClient(), await rawClient()]
  const opens = { ...ALL, oplock: OPLOCK.batch, disposition: DISPOSITION.create }
  const opened = await owner.ask(COMMAND.CREATE, createBody(name, opens))
  assert(opened)
  const { fileId } = decodeCreated(opened.message)
  sendChain(other, [create(name, WRITES), close])
  const { interim } = await untilPending(other, 2)
  const [notification] = await nextFrame(owner)
  assert(notification)
  sendChain(owner, [
    [COMMAND.OPLOCK_BREAK, acknowledgeBody(decodeBreak(notification.message))],
    [COMMAND.CLOSE, closeBody(fileId)],
  ])
  assert.deepEqual(statuses(await nextFrame(owner)), ['SUCCESS', 'SUCCESS'])
  assert.deepEqual(statuses(await lateAnswers(other, interim)), ['SUCCESS', 'SUCCESS'])
})

test('CHANGE_NOTIFY waits as the last part and fails before others, as in Windows', async () => {
  const directory = await newDirectory()
  const client = await rawClient()
  const watch: Body = [COMMAND.CHANGE_NOTIFY, changeNotifyBody(SAME, 1, false)]
  const opens = create(directory, { access: ACCESS.read, options: OPTION.directory })
  sendChain(client, [opens, watch, close])
  assert.deepEqual(statuses(await nextFrame(client)), ['SUCCESS', 'INTERNAL_ERROR', 'SUCCESS'])
  sendChain(client, [opens, watch])
  const { interim } = await untilPending(client, 1)
  await world.share.getDirectoryClient(directory).createFile('new', 0)
  assert.deepEqual(statuses(await lateAnswers(client, interim)), ['SUCCESS'])
})

for (const by of ['asyncId', 'messageId'] as const) {
  test(`CANCEL by ${by} ends the waiting part, and those after it run`, async () => {
    const file = await held(leaseOf(LEASE.RH))
    const client = await rawClient()
    const ids = sendChain(client, [
      create(file.name, RENAMES),
      renameTo(`${file.name}-renamed`),
      close,
    ])
    const { interim } = await untilPending(client, 2)
    const [waiting, behind] = interim
    assert(waiting && behind)
    // Parts that did not wait are not cancelled: the file must be closed.
    for (const [index, each] of [behind, waiting].entries()) {
      const named =
        by === 'asyncId' ? { asyncId: each.header.asyncId } : { messageId: ids[2 - index] ?? 0n }
      client.sendSigned(client.next(COMMAND.CANCEL, SIMPLE_BODY, { messageId: 0n, ...named }))
      client.nextMessageId -= 1n
    }
    assert.deepEqual(statuses(await lateAnswers(client, interim)), ['CANCELLED', 'SUCCESS'])
    await acknowledgeNext(file)
    const { access } = RENAMES
    const again = await (await world.smb()).open(file.name, { access })
    await again.close()
  })
}

/** Ends the connection and waits until the server has noticed, which frees the client's lock. */
async function whenGone(client: RawClient): Promise<void> {
  const { name, holder, handle } = await held(ALL)
  sendChain(client, [create(name, ALL), lock(LOCK.exclusive)])
  assert.deepEqual(statuses(await nextFrame(client)), ['SUCCESS', 'SUCCESS'])
  const body = lockBody(handle.opened.fileId, 0, 1, LOCK.waiting)
  const { answer, pending } = holder.begin(COMMAND.LOCK, body)
  await pending
  client.close()
  await answer
}

test('the end of a connection ends its waiting compounds', async () => {
  const file = await held(leaseOf(LEASE.RH))
  const client = await rawClient()
  sendChain(client, [create(file.name, RENAMES), renameTo(`${file.name}-renamed`), close])
  await untilPending(client, 2)
  await whenGone(client)
  await acknowledgeNext(file)
  await file.handle.close()
  // It is not open and has its old name, so exclusive access is granted.
  const alone = await (await world.smb()).open(file.name, { ...ALL, share: 0 })
  await alone.close()
})

test('at most 16 MiB of compounds can wait on a connection', async () => {
  const file = await held(ALL)
  await file.handle.lock(0, 1)
  const client = await rawClient()
  const bytes = Buffer.alloc(6 * 1024 * 1024)
  const pays = { creditCharge: 96, flags: HEADER_FLAG.related, credits: 0 }
  for (let round = 0; round < 6; round++) await client.ask(COMMAND.ECHO, SIMPLE_BODY)
  for (let round = 0; round < 3; round++) {
    client.send(
      client.next(COMMAND.CREATE, createBody(file.name, WRITES)),
      client.next(COMMAND.LOCK, lockBody(SAME, 0, 1, LOCK.waiting), { flags: HEADER_FLAG.related }),
      client.next(COMMAND.WRITE, writeBody(SAME, 8, bytes), pays),
      client.next(COMMAND.CLOSE, closeBody(), { flags: HEADER_FLAG.related }),
    )
  }
  const answers: Answer[] = []
  while (!answers.some(({ status }) => status === 'INSUFFICIENT_RESOURCES')) {
    answers.push(...(await nextFrame(client)))
  }
  // The third is answered completely, the first two wait.
  assert.equal(answers.filter(({ status }) => status === 'PENDING').length, 6)
  await file.handle.unlock(0, 1)
  const late = [...(await nextFrame(client)), ...(await nextFrame(client))]
  assert.deepEqual(statuses(late), Array<string>(6).fill('SUCCESS'))
})

test('late and interim responses to an encrypted compound are encrypted', async () => {
  const file = await held(leaseOf(LEASE.RH))
  const client = await openRaw()
  // SMB2_GLOBAL_CAP_ENCRYPTION
  client.capabilities = 0x40
  const secret = {
    dialect: DIALECT.smb300,
    cipher: CIPHER.aes128Ccm,
    sessionKey: SESSION_KEY,
    preauthHash: Buffer.alloc(64),
  }
  const { signing, encryption, decryption } = deriveSessionKeys(secret)
  assert(encryption && decryption)
  await client.negotiate([DIALECT.smb300])
  assert.equal((await client.setUpSession(ACCOUNT, ACCOUNT_KEY))?.status, 'SUCCESS')
  client.signer = createSigner(SIGNING.aesCmac, signing)
  assert.equal((await client.connectTree('world'))?.status, 'SUCCESS')
  const sealer = createEncryptor(CIPHER.aes128Ccm, decryption, client.sessionId)
  const opener = createDecryptor(CIPHER.aes128Ccm, encryption)
  const parts = [create(file.name, RENAMES), renameTo(`${file.name}-renamed`), close]
  const messages = parts.map(([command, body], index) => {
    const flags = index === 0 ? 0 : HEADER_FLAG.related
    return [client.next(command, body, { flags })] as const
  })
  const sealed = Buffer.concat(sealer.encrypt(joinCompound(messages).flat()))
  client.write(Buffer.concat([encodeFramePrefix(sealed.length), sealed]))
  const nextSealed = async () => {
    const frame = await client.frame()
    assert(frame)
    return answersIn(opener.decrypt(decodeTransform(frame)))
  }
  assert.deepEqual(statuses(await nextSealed()), ['SUCCESS'])
  assert.deepEqual(statuses(await nextSealed()), ['PENDING'])
  assert.deepEqual(statuses(await nextSealed()), ['PENDING'])
  await acknowledgeNext(file)
  assert.deepEqual(statuses(await nextSealed()), ['SUCCESS', 'SUCCESS'])
})
