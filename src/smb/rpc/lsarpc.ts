// lsarpc ([MS-LSAT], [MS-LSAD]): looks up SIDs and names, so that clients show the names of an account's users instead
// of their SIDs. Policies have no state: every handle is the same one.
import type { Sid } from '../../storage/file/security/sid.ts'
import { NT_STATUS } from '../wire/status.ts'
import type { RpcInterface, RpcOperation } from './interface.ts'
import { lsaDirectory, type LsaName } from './lsa-name.ts'
import {
  domainsOf,
  encodeDomainPolicy,
  encodeDomains,
  encodeNames,
  encodeSids,
  type LookupResult,
  type SidForm,
} from './lsa-structure.ts'
import { encodeU32, readAlignedBytes, readSid, readString, readU32, type NdrReader } from './ndr.ts'
import { FAULT, RpcFault } from './rpc-fault.ts'

/** Attributes of 0, followed by arbitrary nonzero bytes. */
const POLICY_HANDLE = Buffer.from(
  `00000000${Buffer.from('lazuli lsapolicy').toString('hex')}`,
  'hex',
)
const NO_HANDLE = Buffer.alloc(POLICY_HANDLE.length)

/** Names or SIDs in one call. A stub has room for only a few more. */
const LOOKUP_COUNT_MAX = 1_000

function requirePolicyHandle(args: NdrReader): void {
  if (!POLICY_HANDLE.equals(readAlignedBytes(args, POLICY_HANDLE.length))) {
    throw new RpcFault(FAULT.contextMismatch)
  }
}

const status = (name: keyof typeof NT_STATUS): Uint8Array => encodeU32(NT_STATUS[name])

/** LsarOpenPolicy and LsarOpenPolicy2. Every session may look up names. */
const openPolicy: RpcOperation = () => Buffer.concat([POLICY_HANDLE, status('SUCCESS')])

const close: RpcOperation = (args) => {
  requirePolicyHandle(args)
  return Buffer.concat([NO_HANDLE, status('SUCCESS')])
}

/** POLICY_INFORMATION_CLASS ([MS-LSAD] 2.2.4.1) */
const POLICY = { primaryDomain: 3, accountDomain: 5 } as const

/** The account is the domain of its users. The server itself is in no domain. */
const queryInformationPolicy: RpcOperation = (args, { lsa }) => {
  requirePolicyHandle(args)
  const informationClass = Buffer.from(readAlignedBytes(args, 2)).readUInt16LE()
  const account = lsa()
  const primary = { name: 'WORKGROUP', sid: undefined }
  const domain = informationClass === POLICY.accountDomain ? account.domain : primary
  const isSupported = informationClass === POLICY.primaryDomain || domain === account.domain
  if (!isSupported) return Buffer.concat([encodeU32(0), status('INVALID_PARAMETER')])
  return Buffer.concat([encodeDomainPolicy(informationClass, domain), status('SUCCESS')])
}

/** [MS-LSAT] 3.1.4: the answer contains what was found even if the rest was not. */
function encodeOutcome(found: readonly (LsaName | undefined)[]): Uint8Array {
  const mappedCount = found.filter((each) => each !== undefined).length
  const outcome =
    mappedCount === found.length ? 'SUCCESS' : mappedCount === 0 ? 'NONE_MAPPED' : 'SOME_NOT_MAPPED'
  return Buffer.concat([encodeU32(mappedCount), status(outcome)])
}

type Lookup = {
  /** The newest versions of the lookups take no policy handle. */
  readonly hasHandle: boolean
}

function lookupSids({ hasHandle, hasFlags }: Lookup & { hasFlags: boolean }): RpcOperation {
  return (args, { lsa }) => {
    if (hasHandle) requirePolicyHandle(args)
    const directory = lsaDirectory(lsa())
    const results = readSids(args).map((sid) => ({ key: sid, found: directory.bySid(sid) }))
    return encodeLookup(results, (domains) => encodeNames(results, domains, hasFlags))
  }
}

function lookupNames({ hasHandle, form }: Lookup & { form: SidForm }): RpcOperation {
  return (args, { lsa }) => {
    if (hasHandle) requirePolicyHandle(args)
    const directory = lsaDirectory(lsa())
    const results = readNames(args).map((name) => ({ key: name, found: directory.byName(name) }))
    return encodeLookup(results, (domains) => encodeSids(results, domains, form))
  }
}

function encodeLookup(
  results: readonly LookupResult<unknown>[],
  encode: (domains: ReturnType<typeof domainsOf>) => Uint8Array,
): Uint8Array {
  const found = results.map((each) => each.found)
  const domains = domainsOf(found)
  return Buffer.concat([encodeDomains(domains), encode(domains), encodeOutcome(found)])
}

function checkCount(count: number): void {
  if (count > LOOKUP_COUNT_MAX) throw new RpcFault(FAULT.badStub)
}

/** LSAPR_SID_ENUM_BUFFER. It is followed by empty output parameters and by options that have no effect here. */
function readSids(args: NdrReader): readonly Sid[] {
  const count = readU32(args)
  checkCount(count)
  if (readU32(args) === 0) return []
  if (readU32(args) !== count) throw new RpcFault(FAULT.badStub)
  const pointers = Array.from({ length: count }, () => readU32(args))
  if (pointers.includes(0)) throw new RpcFault(FAULT.badStub)
  return pointers.map(() => readSid(args))
}

/** An array of RPC_UNICODE_STRING. */
function readNames(args: NdrReader): readonly string[] {
  const count = readU32(args)
  checkCount(count)
  if (readU32(args) !== count) throw new RpcFault(FAULT.badStub)
  const pointers = Array.from({ length: count }, () => {
    readU32(args) // Both lengths; the text repeats them.
    return readU32(args)
  })
  return pointers.map((pointer) => (pointer === 0 ? '' : readString(args)))
}

export const LSARPC: RpcInterface = {
  syntax: { uuid: '785734123412cdabef000123456789ab', version: 0 },
  operations: new Map([
    [0, close],
    [6, openPolicy],
    [7, queryInformationPolicy],
    [14, lookupNames({ hasHandle: true, form: 'relative' })],
    [15, lookupSids({ hasHandle: true, hasFlags: false })],
    [44, openPolicy], // LsarOpenPolicy2
    [46, queryInformationPolicy], // LsarQueryInformationPolicy2
    [57, lookupSids({ hasHandle: true, hasFlags: true })], // LsarLookupSids2
    [58, lookupNames({ hasHandle: true, form: 'relativeEx' })], // LsarLookupNames2
    [68, lookupNames({ hasHandle: true, form: 'whole' })], // LsarLookupNames3
    [76, lookupSids({ hasHandle: false, hasFlags: true })], // LsarLookupSids3
    [77, lookupNames({ hasHandle: false, form: 'whole' })], // LsarLookupNames4
  ]),
}
