// A seed is a valid request for one operation. The seeds of a service, sent in order, are a scenario in which each
// succeeds: later seeds use values from earlier responses (a lease, a snapshot, a receipt) as `{names}` in their texts.
// Mutations of a seed are sent at the point where the seed itself would succeed.
import { xmlText, type RawRequest } from './harness.ts'
import type { Answer } from './hostile-client.ts'

export type Headers = Readonly<Record<string, string | readonly string[]>>

export type Seed = {
  /** The name in the service's table of operations. */
  readonly operation: string
  readonly status: number
  readonly method: string
  /** The path after the account. */
  readonly path: string
  readonly headers?: Headers
  readonly body?: string | Uint8Array
  /** Signed with the account's key if left out. */
  readonly as?: 'token' | 'sas' | 'anybody'
  /** Sent to the secondary endpoint. */
  readonly secondary?: true
  /** Values for later seeds: a response header, or `<Element>` of the response's XML. */
  readonly keep?: Readonly<Record<string, string>>
}

/** The values of the `{names}` in seeds. */
export type Names = Map<string, string>

/** A SAS is already encoded. */
export function fillText(
  text: string,
  names: Names,
  encode: (value: string) => string = (value) => value,
): string {
  return text.replaceAll(/\{([a-z]\w*)\}/g, (whole, name: string) => {
    const value = names.get(name) ?? whole
    return name === 'sas' ? value : encode(value)
  })
}

/** The seed as a request; tokens and SAS are `{names}` too. */
export function requestOf(seed: Seed, names: Names): RawRequest {
  const fill = (text: string): string => fillText(text, names)
  const { method, path, headers = {}, body, as } = seed
  const filled = Object.entries(headers).map(([name, value]) => {
    return [name, typeof value === 'string' ? fill(value) : value.map(fill)] as const
  })
  const token = as === 'token' ? { authorization: `Bearer ${fill('{token}')}` } : {}
  const account = seed.secondary === true ? '{account}-secondary' : '{account}'
  return {
    method,
    path: fillText(`/${account}${path}`, names, encodeURIComponent),
    wholePath: true,
    headers: { ...Object.fromEntries(filled), ...token },
    ...(body !== undefined && { body: typeof body === 'string' ? fill(body) : body }),
    ...(as !== undefined && { sign: as === 'sas' ? fill('{sas}') : 'none' }),
  }
}

/** Reads the values for later seeds from a successful response. */
export function keepFrom(seed: Seed, answer: Answer, names: Names): void {
  if (answer.status >= 300) return
  for (const [name, from] of Object.entries(seed.keep ?? {})) {
    const element = /^<(\w+)>$/.exec(from)?.[1]
    const text = answer.body.toString()
    const value = element === undefined ? answer.headers[from] : xmlText(text, element)
    if (value !== undefined) names.set(name, value)
  }
}
