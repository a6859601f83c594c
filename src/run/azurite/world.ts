// What an import needs of the server that it fills.
import type { Kv } from '../../kv/kv.ts'
import type { Moment } from '../../node/moment.ts'
import { ControlError } from '../../control/control-error.ts'
import { Refusal } from '../../http/protocol/request-head.ts'
import { xmlEscape } from '../../http/protocol/xml.ts'
import type { OwnClient, OwnRequest } from '../seed/own-client.ts'
import type { Policy } from './document.ts'
import type { AzuriteFolder } from './folder.ts'
import type { ImportReport } from './report.ts'

export type ImportWorld = {
  readonly kv: Kv
  readonly client: OwnClient
  newId(): number
  moment(): Moment
}

export type Importing = ImportWorld & {
  readonly folder: AzuriteFolder
  readonly report: ImportReport
}

/** A request that the rules of the service refuse. */
export class RefusedRequest extends Error {}

export async function send({ client }: ImportWorld, request: OwnRequest): Promise<void> {
  const { status, headers, body } = await client(request).catch((error: unknown) => {
    // Something that no header can hold.
    if (error instanceof Refusal) throw new RefusedRequest(error.message)
    throw error
  })
  if (status < 300) return
  const reason = /<Message>([^<\n]*)|"value":"([^"\\]*)/.exec(body.toString('utf8'))
  const text = reason?.[1] ?? reason?.[2] ?? ''
  const parts = [status, headers.get('x-ms-error-code'), text].filter(Boolean)
  // Not a refusal: the store does not work.
  if (status >= 500) throw new ControlError(parts.join(' '))
  throw new RefusedRequest(parts.join(' '))
}

/** Leaves out what the service refuses; every other error ends the import. */
export async function unlessRefused(
  { report }: Importing,
  what: string,
  work: () => Promise<void>,
): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    if (!(error instanceof RefusedRequest)) throw error
    report.leaveOut(what, error.message)
    return false
  }
}

export function policiesXml(policies: readonly Policy[]): string {
  const items = policies.map(({ id, fields }) => {
    const inside = fields.map(([name, text]) => `<${name}>${xmlEscape(text)}</${name}>`).join('')
    const policy = `<AccessPolicy>${inside}</AccessPolicy>`
    return `<SignedIdentifier><Id>${xmlEscape(id)}</Id>${policy}</SignedIdentifier>`
  })
  return `<SignedIdentifiers>${items.join('')}</SignedIdentifiers>`
}

export function metadataHeaders(metadata: Readonly<Record<string, string>>) {
  const pairs = Object.entries(metadata)
  return Object.fromEntries(pairs.map(([name, value]) => [`x-ms-meta-${name}`, value]))
}
