// --host and --portOffset: the addresses and ports that have no setting of their own.
import { usageError } from '../start-error.ts'
import type { Given, Options } from './options.ts'

const HOSTS = [
  'blobHost',
  'queueHost',
  'tableHost',
  'fileHost',
  'dfsHost',
  'smbHost',
  'webHost',
] as const

const PORTS = [
  'blobPort',
  'queuePort',
  'tablePort',
  'filePort',
  'dfsPort',
  'webPort',
  'adminPort',
  'nodePort',
  'smbPort',
] as const

const PORT_MAX = 65_535

/** Neither the admin port nor that for nodes follows --host: they are not for clients. */
export function withPlaces(options: Options, given: Given): Options {
  const { host, portOffset } = options
  const hosts = HOSTS.filter((name) => host !== undefined && !given.has(name))
  const ports = PORTS.filter((name) => portOffset !== 0 && !given.has(name))
  const high = ports.find((name) => options[name] + portOffset > PORT_MAX)
  if (high !== undefined)
    throw usageError(`--portOffset ${portOffset} is too large for --${high} ${options[high]}`)
  return {
    ...options,
    ...Object.fromEntries(hosts.map((name) => [name, host])),
    ...Object.fromEntries(ports.map((name) => [name, options[name] + portOffset])),
  }
}
