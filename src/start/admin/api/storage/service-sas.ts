// Makes a service SAS with an account's key, which never leaves the server.
import { serviceSasStringToSign } from '../../../../auth/sas/service-sas.ts'
import { formatSasTime } from '../../../../auth/sas/sas-time.ts'
import { sign } from '../../../../auth/signature.ts'
import type { ServiceName } from '../../../../auth/request.ts'
import { FieldError } from '../../../../control/field-error.ts'
import type { Account } from '../../../../storage/shared/account.ts'

export type SasTerms = {
  readonly service: ServiceName
  /** `container` or `container/blob`, not percent-encoded. */
  readonly path: string
  readonly permissions: string
  readonly snapshot?: string
  readonly versionId?: string
}

const VERSION = '2024-11-04'

/** The letters of each service, in the order in which Azure wants them. */
const LETTERS: Readonly<Record<ServiceName, string>> = {
  blob: 'racwdxyltmeopi',
  queue: 'raup',
  table: 'raud',
  file: 'rcwdl',
}

/** The query of a URL, without its question mark. */
export function serviceSas(account: Account, terms: SasTerms, expiresAtMs: number): string {
  const { service, path } = terms
  const fields = new Map([
    ['sv', VERSION],
    ['se', formatSasTime(expiresAtMs)],
    ['sp', permissionsOf(terms)],
    ...resourceOf(terms),
  ])
  const request = {
    service,
    method: 'GET',
    headers: {},
    account: account.name,
    rawPath: '',
    pathStyle: true,
    path: segmentsOf(path),
    // The string to sign has the names in lower case.
    query: new Map([...fields].map(([name, value]) => [name.toLowerCase(), value])),
    version: VERSION,
    secure: false,
    remoteAddress: '',
  }
  const key = account.keys[0]?.secret
  if (key === undefined) throw new Error(`the account ${account.name} has no key`)
  fields.set('sig', sign(key, serviceSasStringToSign(request)))
  return [...fields].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')
}

/** The first segment is the container, queue, table or share; the rest is one name. */
function segmentsOf(path: string): readonly string[] {
  const slash = path.indexOf('/')
  return slash < 0 ? [path] : [path.slice(0, slash), path.slice(slash + 1)]
}

function resourceOf({ service, path, snapshot, versionId }: SasTerms): readonly [string, string][] {
  const isObject = path.includes('/')
  if ((snapshot ?? versionId) !== undefined && !(service === 'blob' && isObject))
    throw new FieldError('snapshot', 'and versionId are for blobs only')
  if (service === 'table') return [['tn', path]]
  if (service === 'queue') return []
  if (service === 'file') return [['sr', isObject ? 'f' : 's']]
  if (snapshot !== undefined) return [['sr', 'bs'], ['snapshot', snapshot]] // prettier-ignore
  if (versionId !== undefined) return [['sr', 'bv'], ['versionId', versionId]] // prettier-ignore
  return [['sr', isObject ? 'b' : 'c']]
}

function permissionsOf({ service, permissions }: SasTerms): string {
  const letters = LETTERS[service]
  for (const letter of permissions) {
    if (!letters.includes(letter))
      throw new FieldError('permissions', `must be letters of ${letters}, not ${letter}`)
  }
  return [...letters].filter((letter) => permissions.includes(letter)).join('')
}
