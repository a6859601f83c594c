// A compound, or a single message as one of a single part ([MS-SMB2] 3.3.5.2.7): its parts run one after the other
// and are answered together. If one has to wait, those before it are answered first, as Samba does. Only the
// last part and CREATE may wait; others fail, as with Windows.
import { interimAnswer, type Answered, type Part } from './answer.ts'
import type { Chain, Connection, Session, SmbWorld } from './call.ts'
import { dispatch, type Outgoing } from './dispatch.ts'
import type { RunningRequest, RunningRequests } from './running.ts'
import { COMMAND } from './wire/header.ts'

export type ChainLine = {
  readonly world: SmbWorld
  readonly connection: Connection
  readonly running: RunningRequests
  readonly sealedBy: Session | undefined
  send(answered: readonly Answered[]): void
  /** The client has been told to wait: for how long is up to others. */
  waits(): void
}

export async function runChain(line: ChainLine, parts: readonly Part[]): Promise<void> {
  const chain = newChain()
  const answered: Answered[] = []
  const last = parts.at(-1)
  for (const part of parts) {
    const request = line.running.begin(part.header.messageId)
    try {
      const outgoing = await runPart(line, {
        part,
        request,
        chain,
        answered,
        isLast: part === last,
      })
      if (line.connection.isClosed) return
      answered.push({ part, outgoing, asyncId: request.asyncId })
    } finally {
      line.running.end(request)
    }
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

type RunningPart = {
  readonly part: Part
  readonly request: RunningRequest
  readonly chain: Chain
  /** Of the parts before; taken out when they are sent. */
  readonly answered: Answered[]
  readonly isLast: boolean
}

async function runPart(line: ChainLine, running: RunningPart): Promise<Outgoing> {
  const { world, connection, sealedBy } = line
  const { part, request, chain, answered, isLast } = running
  const { header, message } = part
  const mayWait = isLast || header.command === COMMAND.CREATE
  let isRefused = false
  const goAsync = (cancel: () => void): void => {
    if (!mayWait) {
      isRefused = true
      queueMicrotask(cancel)
      return
    }
    if (!line.running.wait(request, cancel) || request.asyncId === undefined) return
    if (answered.length > 0) line.send(answered.splice(0))
    line.send([interimAnswer(part, request.asyncId)])
    line.waits()
  }
  const incoming = { world, connection, header, message, chain, sealedBy, goAsync }
  const outgoing = await dispatch(incoming)
  return isRefused && outgoing.status === 'CANCELLED'
    ? { ...outgoing, status: 'INTERNAL_ERROR' }
    : outgoing
}
