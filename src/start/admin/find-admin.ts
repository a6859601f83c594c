// Which admin port a command means: the one that is given, or that of the server that uses the data folder.
import { connectHost, urlOf } from '../host.ts'
import type { DecodedOptions } from '../options/decode-options.ts'
import { locationPath } from '../store/location.ts'
import { readRunningServer } from '../store/running-server.ts'

export type FoundAdmin = {
  readonly url: string
  /** What the server must answer with; undefined: any server at this port is meant. */
  readonly id: string | undefined
  /** That of the settings, or the one that the server has made. */
  readonly token?: string | undefined
  /** No server has announced itself in this folder, so one that answers must not keep another. */
  readonly notInFolder: string | undefined
}

export function findAdmin({ options, given }: DecodedOptions, cwd: string): FoundAdmin {
  const url = urlOf('http', connectHost(options.adminHost), options.adminPort)
  const { controlToken: token } = options
  const any = { url, id: undefined, token, notInFolder: undefined }
  if (given.has('adminPort') || options.store !== undefined || options.inMemoryPersistence)
    return any
  const location = locationPath(options.location, cwd)
  const found = readRunningServer(location)
  if (found === undefined) return { ...any, notInFolder: location }
  const { adminUrl, id } = found
  return { url: adminUrl, id, token: token ?? found.token, notInFolder: undefined }
}
