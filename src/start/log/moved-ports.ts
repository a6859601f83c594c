// The ports that are not where their settings say, because another program has them.
import type { Options } from '../options/options.ts'
import type { Endpoint } from './banner.ts'

export type OpenPorts = {
  readonly endpoints: readonly Endpoint[]
  /** 0 if there is none. */
  readonly webPort: number
  readonly adminUrl: string
}

export function movedPorts(options: Options, open: OpenPorts): readonly string[] {
  const { endpoints, webPort, adminUrl } = open
  const ports = [
    ...endpoints.map(({ service, port }) => ({
      name: `${service}Port` as const,
      port,
    })),
    ...(webPort === 0 ? [] : [{ name: 'webPort' as const, port: webPort }]),
    { name: 'adminPort' as const, port: Number(new URL(adminUrl).port) },
  ]
  return ports
    .filter(({ name, port }) => options[name] !== 0 && options[name] !== port)
    .map(({ name, port }) => `--${name} is ${port}, because ${options[name]} is in use`)
}
