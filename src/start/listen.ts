// Listening that either works or says in one line why not: a taken port is the commonest mistake.
import { createServer, type AddressInfo, type Server } from 'node:net'
import { errorCode, reasonOf, StartError } from './start-error.ts'

export type ListenPlace = {
  /** What wants to listen, for the message: "the blob service". */
  readonly what: string
  /** The flag that moves it elsewhere: "--blobPort". */
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

/** On the port that was asked for or, if that is taken and nobody asked for it, on any other. */
export async function listenOrMove(
  server: Server,
  place: ListenPlace,
  portMayMove: boolean,
): Promise<AddressInfo> {
  try {
    return await listen(server, place)
  } catch (error) {
    const taken = error instanceof Error && errorCode(error.cause) === 'EADDRINUSE'
    if (!taken || !portMayMove) throw error
    return listen(server, { ...place, port: 0 })
  }
}

/** Asked before a store is made: a start that fails leaves no folder behind. */
export async function checkCanListen(place: ListenPlace): Promise<void> {
  const probe = createServer()
  await listen(probe, place)
  await new Promise((resolve) => probe.close(resolve))
}

function listenError(error: Error, { what, flag, host, port }: ListenPlace): StartError {
  const message = `${what} cannot listen on ${host}:${port}: ${reasonOf(error)}`
  return new StartError(`${message}; choose another with ${flag}`, 1, error)
}
