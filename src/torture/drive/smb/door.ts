// Calls of one client over SMB, as requests like those over HTTP: the method is what is done to a file, and a name for each open
// file, which the client chooses, stands for its handle.
import { NoAnswer } from '../recorder.ts'
import type { Reply, Request } from '../kind.ts'
import * as message from './message.ts'
import { SmbSession, statusOf, type SessionTerms } from './session.ts'

const { COMMANDS } = message
/** Longer than any file. */
const READ_BYTES = 65_536

export type SmbDoor = { send(request: Request): Promise<Reply>; close(): void }

export function smbDoor(terms: Omit<SessionTerms, 'share'>): SmbDoor {
  let opening: Promise<SmbSession> | undefined
  let session: SmbSession | undefined
  const handles = new Map<string, Buffer>()
  const sessionFor = async (share: string): Promise<SmbSession> => {
    if (session !== undefined && !session.hasEnded) return session
    handles.clear()
    opening ??= SmbSession.open({ ...terms, share })
    try {
      session = await opening
    } finally {
      opening = undefined
    }
    return session
  }
  return {
    send: async ({ method, path, headers = {}, body = '' }) => {
      const [, share = '', ...names] = path.split('/')
      const { handle = '', offset, to = '' } = headers
      if (method === 'OPEN') {
        const current = await sessionFor(share)
        const answer = await current.ask(COMMANDS.CREATE, message.createBody(names.join('\\'), openingOf(headers))) // prettier-ignore
        if (statusOf(answer) === message.SUCCESS) handles.set(handle, message.fileIdOf(answer))
        return replyOf(answer)
      }
      // The handle of a connection that has ended is closed.
      const fileId = handles.get(handle)
      if (session === undefined || session.hasEnded || fileId === undefined) throw new NoAnswer('the connection has ended') // prettier-ignore
      const bytes = Buffer.from(body)
      switch (method) {
        case 'READ':
          return contentReply(await session.ask(COMMANDS.READ, message.readBody(fileId, READ_BYTES))) // prettier-ignore
        case 'WRITE':
          return replyOf(await session.ask(COMMANDS.WRITE, message.writeBody(fileId, Number(offset), bytes))) // prettier-ignore
        case 'RENAME':
          return replyOf(await session.ask(COMMANDS.SET_INFO, message.renameBody(fileId, to.replaceAll('/', '\\')))) // prettier-ignore
        case 'DELETE':
          return replyOf(await session.ask(COMMANDS.SET_INFO, message.deleteBody(fileId)))
        default: {
          handles.delete(handle)
          return replyOf(await session.ask(COMMANDS.CLOSE, message.closeBody(fileId)))
        }
      }
    },
    close: () => session?.end(),
  }
}

function openingOf(headers: NonNullable<Request['headers']>): message.Opening {
  const { access = '', share = '', disposition } = headers
  return { access, share, disposition: disposition === 'create' ? 'create' : 'open' }
}

function replyOf(answer: Buffer, body: Buffer = Buffer.alloc(0)): Reply {
  const status = statusOf(answer)
  if (status === message.SUCCESS) return { status: 200, headers: {}, body }
  const code = message.refusalName(status)
  if (message.UNKNOWN.has(status)) throw new NoAnswer(code)
  return { status: code === 'OBJECT_NAME_NOT_FOUND' ? 404 : 409, headers: { 'x-ms-error-code': code }, body } // prettier-ignore
}

/** An empty file has an end and nothing before it. */
function contentReply(answer: Buffer): Reply {
  if (statusOf(answer) === message.END_OF_FILE) return { status: 200, headers: {}, body: Buffer.alloc(0) } // prettier-ignore
  return replyOf(answer, statusOf(answer) === message.SUCCESS ? message.contentIn(answer) : undefined) // prettier-ignore
}
