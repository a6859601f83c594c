// The rows of the Queue service: putting messages, and getting messages from a queue that never runs empty, since they
// become visible again after a second and there are more of them than a server can return in that time.
import { mustCall } from './call.ts'
import type { Row } from './row.ts'
import type { Running } from './target.ts'

const TEXT = 'x'.repeat(512)
const MESSAGE = `<QueueMessage><MessageText>${TEXT}</MessageText></QueueMessage>`
const MESSAGE_COUNT = 20_000
/** Azurite's gets slow down with the number of messages (20,000 take seconds), so this favours Azurite. */
const AZURITE_MESSAGE_COUNT = 2_000
const PREPARE_CONCURRENCY = 16

const shared = { service: 'queue', onBare: false, numberCount: 1 } as const

export function queueRows(): readonly Row[] {
  return [putMessageRow, getMessagesRow]
}

function messagesUrl(server: Running, queue: string, query = ''): string {
  return `${server.endpoint('queue')}/${queue}/messages?${query}${server.sas}`
}

async function createQueue(server: Running, queue: string): Promise<void> {
  const url = `${server.endpoint('queue')}/${queue}?${server.sas}`
  await mustCall(url, { method: 'PUT', body: '' })
}

async function fill(server: Running, queue: string, messageCount: number): Promise<void> {
  await createQueue(server, queue)
  const url = messagesUrl(server, queue)
  let next = 0
  const worker = async () => {
    while (next++ < messageCount) await mustCall(url, { method: 'POST', body: MESSAGE })
  }
  await Promise.all(Array.from({ length: PREPARE_CONCURRENCY }, worker))
}

async function checkFirst(server: Running, queue: string): Promise<void> {
  const seen = (await mustCall(messagesUrl(server, queue, 'peekonly=true&'))).toString()
  if (!seen.includes(`<MessageText>${TEXT}</MessageText>`)) throw new Error(`no message: ${seen}`)
}

const putMessageRow: Row = {
  ...shared,
  name: 'put-message',
  work: 'Put Message 512 bytes',
  goal: { azurite: 15 },
  answerBytesMin: 0,
  azuriteSMin: 1,
  request: (server) => ({ method: 'POST', url: messagesUrl(server, 'put-message'), body: MESSAGE }),
  prepare: (server) => createQueue(server, 'put-message'),
  check: (server) => checkFirst(server, 'put-message'),
}

const getMessagesRow: Row = {
  ...shared,
  name: 'get-messages',
  work: 'Get Messages, one at a time',
  goal: { azurite: 50 },
  // A response without a message is much shorter.
  answerBytesMin: TEXT.length + 400,
  azuriteSMin: 3,
  request: (server) => ({
    method: 'GET',
    url: messagesUrl(server, 'get-messages', 'visibilitytimeout=1&'),
  }),
  prepare: (server) => {
    const isAzurite = server.target.name === 'azurite'
    return fill(server, 'get-messages', isAzurite ? AZURITE_MESSAGE_COUNT : MESSAGE_COUNT)
  },
  check: (server) => checkFirst(server, 'get-messages'),
}
