// User delegation SAS: signed with a key that the service issued to a user
// (https://learn.microsoft.com/rest/api/storageservices/create-user-delegation-sas). It contains the fields of the
// key as sk…, and stored access policies do not apply to it.
import type { Account } from '../../storage/shared/account.ts'
import { StorageError } from '../../storage/shared/error.ts'
import { SERVICE_LETTERS } from './account-sas.ts'
import type { Agent, UserDelegationSasIdentity } from '../identity.ts'
import { queryField, type AuthRequest, type ServiceName } from '../request.ts'
import { layouts, sasScope, signedFields, type Layouts } from './sas-resource.ts'
import { formatSasTime } from './sas-time.ts'
import {
  checkSource,
  checkValidity,
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
import { userDelegationSecret, type UserDelegationKeyFields } from './user-delegation-key.ts'

const KEY = 'skoid sktid skt ske sks skv'

// prettier-ignore
const USER_DELEGATION_SAS_FIELDS: Readonly<Record<ServiceName, Layouts>> = {
  blob: layouts(
    ['2026-04-06', `sp st se cr ${KEY} saoid suoid scid skdutid sduoid sip spr sv sr time ses srh srq rscc rscd rsce rscl rsct`],
    ['2025-07-05', `sp st se cr ${KEY} saoid suoid scid skdutid sduoid sip spr sv sr time ses rscc rscd rsce rscl rsct`],
    ['2020-12-06', `sp st se cr ${KEY} saoid suoid scid sip spr sv sr time ses rscc rscd rsce rscl rsct`],
    ['2020-02-10', `sp st se cr ${KEY} saoid suoid scid sip spr sv sr time rscc rscd rsce rscl rsct`],
    ['2018-11-09', `sp st se cr ${KEY} sip spr sv sr time rscc rscd rsce rscl rsct`],
  ),
  queue: layouts(['2025-07-05', `sp st se cr ${KEY} skdutid sduoid sip spr sv`]),
  table: layouts(['2025-07-05', `sp st se cr ${KEY} skdutid sduoid sip spr sv spk srk epk erk`]),
  file: layouts(['2025-07-05', `sp st se cr ${KEY} skdutid sduoid sip spr sv rscc rscd rsce rscl rsct`]),
}

const OLDEST_VERSION = '2018-11-09'

export function authenticateUserDelegationSas(
  request: AuthRequest,
  account: Account,
  nowMs: number,
): UserDelegationSasIdentity {
  const text = userDelegationSasStringToSign(request)
  const signature = requiredField(request, 'sig')
  const permissions = signedPermissions(request)
  const startMs = signedTime(request, 'st')
  const expiryMs = signedTime(request, 'se')
  if (queryField(request, 'si') !== '') throw malformedField('si')
  if (permissions === undefined) throw missingField('sp')
  if (expiryMs === undefined) throw missingField('se')
  const keyValidity = keyValidityOf(request)
  const fields = keyFields(request, keyValidity)
  if (!isSigned(account, fields, text, signature)) throw signatureMismatch(text)
  checkValidity(keyValidity, nowMs)
  checkValidity({ startMs, expiryMs }, nowMs)
  checkSource(request)
  if (fields.signedService !== SERVICE_LETTERS[request.service]) {
    throw new StorageError('AuthorizationServiceMismatch')
  }
  return {
    kind: 'userDelegationSas',
    permissions,
    ...sasScope(request),
    objectId: fields.signedOid,
    tenantId: fields.signedTid,
    ...agentOf(request),
  }
}

/** The version from which these fields are signed. Before that, anyone could add them. */
const AGENT_VERSION = '2020-02-10'

/** A SAS has at most one of both (Create a user delegation SAS, signed object id of a security principal). */
function agentOf(request: AuthRequest): { readonly agent?: Agent } {
  if (queryField(request, 'sv') < AGENT_VERSION) return {}
  const [checked, trusted] = [queryField(request, 'suoid'), queryField(request, 'saoid')]
  if (checked !== '' && trusted !== '') throw malformedField('suoid')
  const objectId = checked || trusted
  return objectId === '' ? {} : { agent: { objectId, isAuthorized: checked === '' } }
}

function isSigned(
  account: Account,
  fields: UserDelegationKeyFields,
  text: string,
  signature: string,
): boolean {
  return account.keys.some((key) =>
    isSignedByCached(userDelegationSecret(key, fields), text, signature),
  )
}

function keyValidityOf(request: AuthRequest): Validity {
  const startMs = signedTime(request, 'skt')
  const expiryMs = signedTime(request, 'ske')
  if (startMs === undefined) throw missingField('skt')
  if (expiryMs === undefined) throw missingField('ske')
  return { startMs, expiryMs }
}

/** The times have the format of the issued key, however the client wrote them. */
function keyFields(request: AuthRequest, { startMs = 0, expiryMs }: Validity) {
  const delegatedUserTid = queryField(request, 'skdutid')
  return {
    signedOid: requiredField(request, 'skoid'),
    signedTid: requiredField(request, 'sktid'),
    signedStart: formatSasTime(startMs),
    signedExpiry: formatSasTime(expiryMs),
    signedService: requiredField(request, 'sks'),
    signedVersion: requiredField(request, 'skv'),
    ...(delegatedUserTid === '' ? {} : { signedDelegatedUserTid: delegatedUserTid }),
  }
}

export function userDelegationSasStringToSign(request: AuthRequest): string {
  const version = signedVersion(request, OLDEST_VERSION)
  return signedFields(request, version, USER_DELEGATION_SAS_FIELDS[request.service])
}
