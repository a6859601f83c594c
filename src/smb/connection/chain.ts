// Runs a compound ([MS-SMB2] 3.3.5.2.7); a single message is a compound of one. Its parts run one after the other and
// are answered together. Any part may have to wait for a lock or for another client's cache. Then the parts before it
// are answered first, and the client gets an interim response for the waiting part and for every part related to it
// (3.3.5.2.7.2). Those are answered together when the wait is over.
import assert from 'node:assert/strict'
import { interimAnswer, type Answered, type Part } from './answer.ts'
import type { Chain } from '../call.ts'
import { Turn } from '../../kv/turn.ts'
import type { Connection, Session, SmbWorld } from '../world.ts'
import { COMMANDS } from '../command/commands.ts'
import { dispatch, type Outgoing } from './dispatch.ts'
import type { RunningRequest, RunningRequests } from './running.ts'
import { COMMAND, HEADER_FLAG } from '../wire/header.ts'
import type { NtStatusName } from '../wire/status.ts'

export type ChainLine = {
  readonly world: SmbWorld
  readonly connection: Connection
  readonly running: RunningRequests
  readonly sealedBy: Session | undefined
  send(answered: readonly Answered[]): void
  /** Called when the chain starts to wait for other clients. False: too much is waiting on the connection already. */
  hold(): boolean
}

type Link = { readonly part: Part; readonly request: RunningRequest }

export async function runChain(line: ChainLine, parts: readonly Part[]): Promise<void> {
  const chain = newChain()
  const answered: Answered[] = []
  // All of them at once: CANCEL may name a part that has not started yet.
  const links = parts.map((part) => ({ part, request: line.running.begin(part.header.messageId) }))
  try {
    const turn = new Turn()
    for (const [index, { part, request }] of links.entries()) {
      if (turn.isOver()) await turn.next()
      const outgoing = await runLink(line, { chain, answered, links, index })
      if (line.connection.isClosed) return
      line.running.end(request)
      answered.push({ part, outgoing, asyncId: request.asyncId })
    }
  } finally {
    for (const { request } of links) line.running.end(request)
  }
  line.send(answered)
}

function newChain(): Chain {
  return {
    isRelated: false,
    fileId: undefined,
    failed: undefined,
    isLost: true,
    sessionId: 0n,
    treeId: 0,
  }
}

type Progress = {
  readonly chain: Chain
  /** Responses of earlier parts that have not been sent. */
  readonly answered: Answered[]
  readonly links: readonly Link[]
  /** Of the part to run. */
  readonly index: number
}

async function runLink(line: ChainLine, progress: Progress): Promise<Outgoing> {
  const { chain, answered, links, index } = progress
  const link = links[index]
  assert(link !== undefined)
  const { world, connection, sealedBy } = line
  const { header, message } = link.part
  let refusal: NtStatusName | undefined
  const goAsync = (cancel: () => void): void => {
    const behind = links.slice(index + 1)
    refusal ??= waitRefusal(line, link, behind)
    if (refusal !== undefined) return queueMicrotask(cancel)
    if (!line.running.wait(link.request, cancel)) return
    if (answered.length > 0) line.send(answered.splice(0))
    for (const each of [link, ...relatedTo(behind)]) sendInterim(line, each)
  }
  const incoming = { world, connection, header, message, chain, sealedBy, goAsync }
  const outgoing = await dispatch(incoming)
  if (refusal === undefined || outgoing.status !== 'CANCELLED') return outgoing
  return { ...outgoing, status: refusal }
}

function waitRefusal(
  line: ChainLine,
  { part }: Link,
  behind: readonly Link[],
): NtStatusName | undefined {
  // A CHANGE_NOTIFY may wait forever, and with it the parts after it. Windows refuses that, and it is the only command
  // refused here ([MS-SMB2] 3.3.5.2.7: "The server MAY fail requests in a compound chain which require
  // asynchronous processing").
  if (part.header.command === COMMAND.CHANGE_NOTIFY && behind.length > 0) return 'INTERNAL_ERROR'
  return line.hold() ? undefined : 'INSUFFICIENT_RESOURCES'
}

function relatedTo(behind: readonly Link[]): readonly Link[] {
  const end = behind.findIndex(({ part }) => (part.header.flags & HEADER_FLAG.related) === 0)
  return end < 0 ? behind : behind.slice(0, end)
}

/**
 * In a frame of its own: Linux stops reading a compound at an interim response. A command without a tree gets none,
 * because the header of an asynchronous response has no room for the TreeId that the command may create.
 */
function sendInterim({ running, send }: ChainLine, { part, request }: Link): void {
  if (request.asyncId !== undefined) return
  if (COMMANDS[part.header.command]?.needs !== 'tree') return
  send([interimAnswer(part, running.goAsync(request))])
}
