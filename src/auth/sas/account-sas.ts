// Account SAS: one signature for several services and resource types
// (https://learn.microsoft.com/rest/api/storageservices/create-account-sas).
import type { Account } from '../../storage/shared/account.ts'
import { StorageError } from '../../storage/shared/error.ts'
import type { AccountSasIdentity } from '../identity.ts'
import { queryField, type AuthRequest, type ServiceName } from '../request.ts'
import {
  checkSource,
  checkValidity,
  encryptionScope,
  malformedField,
  missingField,
  requiredField,
  signatureMismatch,
  signedPermissions,
  signedTime,
  signedVersion,
  type Validity,
} from './sas.ts'
import { isSignedByCached } from '../signature.ts'

export const SERVICE_LETTERS: Readonly<Record<ServiceName, string>> = {
  blob: 'b',
  queue: 'q',
  table: 't',
  file: 'f',
}

const OLDEST_VERSION = '2015-04-05'
const ENCRYPTION_SCOPE_VERSION = '2020-12-06'

/** A query whose signature was verified. Times, source and service are checked for each request. */
type SignedSas = {
  /** The account whose keys verified it. An account with other keys is another object. */
  readonly account: Account
  readonly services: string
  readonly validity: Validity
  readonly identity: AccountSasIdentity
}

// A client sends the same query with every request, and http/protocol/query.ts gives the same map for it.
const verified = new WeakMap<AuthRequest['query'], SignedSas>()

export function authenticateAccountSas(
  request: AuthRequest,
  account: Account,
  nowMs: number,
): AccountSasIdentity {
  let sas = verified.get(request.query)
  if (sas?.account !== account) {
    sas = verifySas(request, account)
    verified.set(request.query, sas)
  }
  checkValidity(sas.validity, nowMs)
  checkSource(request)
  if (!sas.services.includes(SERVICE_LETTERS[request.service])) {
    throw new StorageError('AuthorizationServiceMismatch')
  }
  return sas.identity
}

function verifySas(request: AuthRequest, account: Account): SignedSas {
  const text = accountSasStringToSign(request)
  const signature = requiredField(request, 'sig')
  const permissions = signedPermissions(request)
  const startMs = signedTime(request, 'st')
  const expiryMs = signedTime(request, 'se')
  const services = requiredField(request, 'ss')
  const resourceTypes = requiredField(request, 'srt')
  if (permissions === undefined) throw missingField('sp')
  if (expiryMs === undefined) throw missingField('se')
  if (!/^[bqtf]+$/.test(services)) throw malformedField('ss')
  if (!/^[sco]+$/.test(resourceTypes)) throw malformedField('srt')
  const { keys } = account
  if (!keys.some((key) => isSignedByCached(key.secret, text, signature))) {
    throw signatureMismatch(text)
  }
  const scope = encryptionScope(request)
  return {
    account,
    services,
    validity: { startMs, expiryMs },
    identity: { kind: 'accountSas', permissions, resourceTypes, encryptionScope: scope },
  }
}

export function accountSasStringToSign(request: AuthRequest): string {
  const version = signedVersion(request, OLDEST_VERSION)
  const names = ['sp', 'ss', 'srt', 'st', 'se', 'sip', 'spr', 'sv']
  if (version >= ENCRYPTION_SCOPE_VERSION) names.push('ses')
  const fields = names.map((name) => queryField(request, name))
  return `${request.account}\n${fields.join('\n')}\n`
}
