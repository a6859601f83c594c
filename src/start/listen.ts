// Listens, or fails with a one-line error. A port that is in use is the most common mistake.
import { createServer, type AddressInfo, type Server } from 'node:net'
import { errorCode, errorReason, StartError } from './start-error.ts'

export type ListenPlace = {
  /** For the error message: "the blob service". */
  readonly what: string
  /** The flag that sets the port: "--blobPort". */
  readonly flag: string
  readonly host: string
  readonly port: number
}

export function listen(server: Server, place: ListenPlace): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => reject(listenError(error, place))
    server.once('error', fail)
    server.listen({ host: place.host, port: place.port }, () => {
      server.off('error', fail)
      const address = server.address()
      if (address === null || typeof address === 'string') fail(new Error('it has no port'))
      else resolve(address)
    })
  })
}

/** Listens on the given port. If it is in use and was only a default, on any free one. */
export async function listenOrMove(
  server: Server,
  place: ListenPlace,
  portMayMove: boolean,
): Promise<AddressInfo> {
  try {
    return await listen(server, place)
  } catch (error) {
    const isInUse = error instanceof Error && errorCode(error.cause) === 'EADDRINUSE'
    if (!isInUse || !portMayMove) throw error
    return listen(server, { ...place, port: 0 })
  }
}

/** Checks the port before the store is created, so that a failed start leaves no folder behind. */
export async function checkCanListen(place: ListenPlace): Promise<void> {
  const probe = createServer()
  await listen(probe, place)
  await new Promise((resolve) => probe.close(resolve))
}

/** The address is wrong, not the port. */
const HOST_ERRORS: ReadonlySet<string> = new Set(['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN'])

function listenError(error: Error, { what, flag, host, port }: ListenPlace): StartError {
  const message = `${what} cannot listen on ${host}:${port}: ${errorReason(error)}`
  const isHostWrong = HOST_ERRORS.has(errorCode(error) ?? '')
  const remedy = isHostWrong ? flag.replace(/Port$/, 'Host') : flag
  return new StartError(`${message}; choose another with ${remedy}`, 1, error)
}
