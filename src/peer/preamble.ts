// The first line on a connection between nodes: which service it is for, and who the client is. The receiving node answers
// with one byte before anything else is sent.
import { isIP, type Socket } from 'node:net'
import type { RelayedClient } from '../node/relayed-client.ts'

/** The services whose connections are relayed. */
export type RelayedService = 'blob' | 'file' | 'smb'

export type Preamble = { readonly service: RelayedService; readonly client: RelayedClient }

export const ACCEPTED = 1
/** The node is not the home. */
export const REFUSED = 0

/** The other side has gone. */
export class ConnectionEnded extends Error {}

/** Far more than two addresses take. */
const LINE_BYTES_MAX = 512
const LINE_END = 0x0a

export function encodePreamble({ service, client }: Preamble): string {
  return `${JSON.stringify({ service, client })}\n`
}

/** Returns undefined if the text is not a preamble. */
export function decodePreamble(text: string): Preamble | undefined {
  const given = parseObject(text)
  const client = given?.['client']
  const service = given?.['service']
  if (service !== 'blob' && service !== 'file' && service !== 'smb') return undefined
  return isClient(client) ? { service, client } : undefined
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed: unknown = JSON.parse(text)
    return isObject(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function isClient(value: unknown): value is RelayedClient {
  if (!isObject(value)) return false
  const { remoteAddress, remotePort, localAddress, secure, onLoopback } = value
  const isAddress = (text: unknown): boolean => typeof text === 'string' && isIP(text) !== 0
  return (
    isAddress(remoteAddress) &&
    isAddress(localAddress) &&
    typeof remotePort === 'number' &&
    Number.isInteger(remotePort) &&
    remotePort >= 0 &&
    remotePort <= 0xffff &&
    typeof secure === 'boolean' &&
    typeof onLoopback === 'boolean'
  )
}

/**
 * The first line of a connection, or undefined if it is not a preamble. The other side has to wait for the answer, so more
 * bytes behind it make it invalid. Rejects if the line is too long or the connection ends.
 */
export async function readPreamble(socket: Socket): Promise<Preamble | undefined> {
  const line = await readStart(socket, LINE_BYTES_MAX, (bytes) => bytes.includes(LINE_END))
  return decodePreamble(line.toString('utf8'))
}

/** The answer to the preamble. */
export async function readAnswer(socket: Socket): Promise<number | undefined> {
  return (await readStart(socket, 1, (bytes) => bytes.length === 1))[0]
}

/** Reads until the bytes are whole, and leaves the socket as if nobody had read from it. */
function readStart(
  socket: Socket,
  bytesMax: number,
  isWhole: (bytes: Buffer) => boolean,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0)
    const stop = (): void => {
      socket.off('readable', read).off('end', fail).off('close', fail)
    }
    const fail = (): void => {
      stop()
      reject(new ConnectionEnded('the connection ended'))
    }
    const read = (): void => {
      for (let chunk: unknown = socket.read(); chunk instanceof Buffer; chunk = socket.read()) {
        bytes = Buffer.concat([bytes, chunk])
        if (bytes.length > bytesMax) {
          stop()
          return reject(new Error('the other side sent too much'))
        }
      }
      if (!isWhole(bytes)) return
      stop()
      resolve(bytes)
    }
    socket.on('readable', read).on('end', fail).on('close', fail)
    if (socket.destroyed) fail()
  })
}
