// A seed is a good request of one operation. The seeds of a service, sent in order, are a scenario in which
// each succeeds: what one is answered (a lease, a snapshot, a receipt) the next ones need. Texts hold
// `{names}` for it. Spoilt copies of a seed are sent where its good one would succeed.
import { xmlText, type RawRequest } from './harness.ts'
import type { Answer } from './hostile-client.ts'

export type Headers = Readonly<Record<string, string | readonly string[]>>

export type Seed = {
  /** As the service's table calls it. */
  readonly operation: string
  readonly status: number
  readonly method: string
  /** Behind the account. */
  readonly path: string
  readonly headers?: Headers
  readonly body?: string | Uint8Array
  /** Left out, it is signed with the account's key. */
  readonly as?: 'token' | 'sas' | 'anybody'
  /** Sent to the secondary endpoint. */
  readonly secondary?: true
  /** What later seeds need: a header of the answer, or `<Element>` of its XML. */
  readonly keep?: Readonly<Record<string, string>>
}

/** What `{names}` in seeds stand for. */
export type Names = Map<string, string>

/** A SAS is encoded as it is. */
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

/** The seed as a request; of a token and of a SAS the text is a name as well. */
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

/** Takes from a good answer what the seed says is to be kept. */
export function keepFrom(seed: Seed, answer: Answer, names: Names): void {
  if (answer.status >= 300) return
  for (const [name, from] of Object.entries(seed.keep ?? {})) {
    const element = /^<(\w+)>$/.exec(from)?.[1]
    const text = answer.body.toString()
    const value = element === undefined ? answer.headers[from] : xmlText(text, element)
    if (value !== undefined) names.set(name, value)
  }
}
