// Service SAS: a signature for one container, blob, queue, table, share or file
// (https://learn.microsoft.com/rest/api/storageservices/create-service-sas). Which fields are signed
// depends on the service and on the version, so the strings to sign are a table.
import type { Account } from '../../storage/shared/account.ts'
import { authenticationFailed } from '../failure.ts'
import type { ServiceSasIdentity } from '../identity.ts'
import { queryField, type AuthRequest, type ServiceName } from '../request.ts'
import { layouts, sasScope, signedFields, type Layouts } from './sas-resource.ts'
import {
  checkSource,
  checkValidity,
  missingField,
  requiredField,
  signatureMismatch,
  signedPermissions,
  signedTime,
  signedVersion,
} from './sas.ts'
import { isSignedByCached } from '../signature.ts'
import type { AuthWorld } from '../world.ts'

// Newest first; `cr` is the canonical resource and `time` the snapshot or version.
// prettier-ignore
const SERVICE_SAS_FIELDS: Readonly<Record<ServiceName, Layouts>> = {
  blob: layouts(
    ['2020-12-06', 'sp st se cr si sip spr sv sr time ses rscc rscd rsce rscl rsct'],
    ['2018-11-09', 'sp st se cr si sip spr sv sr time rscc rscd rsce rscl rsct'],
    ['2015-04-05', 'sp st se cr si sip spr sv rscc rscd rsce rscl rsct'],
    ['2013-08-15', 'sp st se cr si sv rscc rscd rsce rscl rsct'],
    ['2012-02-12', 'sp st se cr si sv'],
  ),
  queue: layouts(
    ['2015-04-05', 'sp st se cr si sip spr sv'],
    ['2012-02-12', 'sp st se cr si sv'],
  ),
  table: layouts(
    ['2015-04-05', 'sp st se cr si sip spr sv spk srk epk erk'],
    ['2012-02-12', 'sp st se cr si sv spk srk epk erk'],
  ),
  file: layouts(
    ['2015-04-05', 'sp st se cr si sip spr sv rscc rscd rsce rscl rsct'],
    ['2015-02-21', 'sp st se cr si sv rscc rscd rsce rscl rsct'],
  ),
}

const OLDEST_VERSION = '2012-02-12'

export function authenticateServiceSas(
  request: AuthRequest,
  account: Account,
  world: AuthWorld,
): ServiceSasIdentity | Promise<ServiceSasIdentity> {
  const text = serviceSasStringToSign(request)
  const signature = requiredField(request, 'sig')
  const terms = termsOf(request)
  const { keys } = account
  if (!keys.some((key) => isSignedByCached(key.secret, text, signature))) {
    throw signatureMismatch(text)
  }
  const id = queryField(request, 'si')
  if (id === '') return serviceSasIdentity(request, terms, world.nowMs)
  return withPolicy(request, id, terms, world)
}

/** The fields of the SAS itself; a stored access policy may have the rest. */
type Terms = {
  readonly startMs: number | undefined
  readonly expiryMs: number | undefined
  readonly permissions: string | undefined
}

function termsOf(request: AuthRequest): Terms {
  return {
    startMs: signedTime(request, 'st'),
    expiryMs: signedTime(request, 'se'),
    permissions: signedPermissions(request),
  }
}

async function withPolicy(
  request: AuthRequest,
  id: string,
  terms: Terms,
  world: AuthWorld,
): Promise<ServiceSasIdentity> {
  const policy = await world.accessPolicy(request, id)
  if (policy === undefined) {
    throw authenticationFailed('SAS identifier cannot be found for specified signed identifier')
  }
  const names = ['startMs', 'expiryMs', 'permissions'] as const
  if (names.some((name) => terms[name] !== undefined && policy[name] !== undefined)) {
    throw authenticationFailed(
      'Access policy fields can be associated with signature or SAS identifier but not both',
    )
  }
  const merged: Terms = {
    startMs: terms.startMs ?? policy.startMs,
    expiryMs: terms.expiryMs ?? policy.expiryMs,
    permissions: terms.permissions ?? policy.permissions,
  }
  return serviceSasIdentity(request, merged, world.nowMs)
}

function serviceSasIdentity(request: AuthRequest, terms: Terms, nowMs: number): ServiceSasIdentity {
  const { startMs, expiryMs, permissions } = terms
  if (permissions === undefined) throw missingField('sp')
  if (expiryMs === undefined) throw missingField('se')
  checkValidity({ startMs, expiryMs }, nowMs)
  checkSource(request)
  return {
    kind: 'serviceSas',
    permissions,
    ...sasScope(request),
  }
}

export function serviceSasStringToSign(request: AuthRequest): string {
  const version = signedVersion(request, OLDEST_VERSION)
  return signedFields(request, version, SERVICE_SAS_FIELDS[request.service])
}
