// The conditions If-Match, If-None-Match, If-Modified-Since and If-Unmodified-Since, decoded, and whether an
// object meets them ("Specifying conditional headers for Blob service operations"). An unmet condition is 412
// ConditionNotMet or, for reads, 304, which is also ConditionNotMet on the wire but has its own row
// (NotModified) in the table of errors.
import { matchesTags, type TagExpression } from './tag-filter.ts'
import type { Tags } from './tags.ts'
import { StorageError, type ErrorDetails } from './error.ts'
import { etagOf } from './etag.ts'

/** `*`, or a list of ETags including their quotes. */
export type ETags = '*' | readonly string[]

export type Conditions = {
  readonly ifMatch?: ETags
  readonly ifNoneMatch?: ETags
  readonly ifModifiedSinceMs?: number
  readonly ifUnmodifiedSinceMs?: number
  /** x-ms-if-tags, in addition to all others. */
  readonly ifTags?: TagExpression
}

export const NO_CONDITIONS: Conditions = {}

/** The parts of a record that conditions refer to. Without a stamp there is no ETag, and none matches. */
export type Validators = {
  readonly stamp?: number
  readonly modifiedMs: number
  readonly tags?: Tags
  /** Of a path in a hierarchical namespace. */
  readonly path?: { readonly isDirectory?: true }
}

/** `create` (Put Blob, Put Block List) and `copy` create a missing object; `update` requires it. */
export type WriteKind = 'create' | 'copy' | 'update'

/** Since version 2013-08-15 reads accept any combination; before, only the pairs that writes accept. */
export type ReadRule = 'any' | 'pairs'

/** No read can meet `If-None-Match: *`, whether or not the object exists. */
export function checkSatisfiable({ ifNoneMatch }: Conditions): void {
  if (ifNoneMatch === '*') throw new StorageError('UnsatisfiableCondition')
}

/** For an existing object: a read of a missing one is 404, whatever its other conditions. */
export function checkReadConditions(
  conditions: Conditions,
  current: Validators,
  rule: ReadRule = 'any',
): void {
  if (conditions === NO_CONDITIONS) return
  checkSatisfiable(conditions)
  const considered = rule === 'any' ? conditions : pairedConditions(conditions)
  if (!isUnchanged(considered, current) || !isTagged(conditions, current)) {
    throw new StorageError('ConditionNotMet')
  }
  if (!isChanged(considered, current)) throw new StorageError('NotModified')
}

export function checkWriteConditions(
  conditions: Conditions,
  current: Validators | undefined,
  kind: WriteKind,
): void {
  if (conditions === NO_CONDITIONS) return
  const considered = pairedConditions(conditions)
  if (current !== undefined && considered.ifNoneMatch === '*') {
    if (kind === 'update') throw new StorageError('ConditionNotMet')
    throw new StorageError('BlobAlreadyExists', existingType(current))
  }
  const isMet =
    current === undefined
      ? considered.ifMatch === undefined
      : isUnchanged(considered, current) && isChanged(considered, current)
  if (!isMet) throw new StorageError(kind === 'copy' ? 'TargetConditionNotMet' : 'ConditionNotMet')
  if (!isTagged(conditions, current)) throw new StorageError('ConditionNotMet')
}

function existingType({ path }: Validators): ErrorDetails {
  if (path === undefined) return {}
  return { 'x-ms-existing-resource-type': path.isDirectory === true ? 'directory' : 'file' }
}

/** The source of a copy is read, but the answer is that of a write, so it is never 304. */
export function checkSourceConditions(conditions: Conditions, source: Validators): void {
  checkSatisfiable(conditions)
  const isMet = isUnchanged(conditions, source) && isChanged(conditions, source)
  if (!isMet) throw new StorageError('SourceConditionNotMet')
  if (!isTagged(conditions, source)) throw new StorageError('ConditionNotMet')
}

/** Containers support only conditions on time, and Set Container Metadata only If-Modified-Since. */
export function checkContainerConditions(
  conditions: Conditions,
  current: Validators,
  supports: { readonly ifUnmodifiedSince: boolean },
): void {
  const isUnsupported = conditions.ifUnmodifiedSinceMs !== undefined && !supports.ifUnmodifiedSince
  if (
    conditions.ifMatch !== undefined ||
    conditions.ifNoneMatch !== undefined ||
    conditions.ifTags !== undefined ||
    isUnsupported
  ) {
    throw new StorageError('ConditionHeadersNotSupported')
  }
  checkWriteConditions(conditions, current, 'update')
}

/** For operations that support no conditions. */
export function checkNoConditions(conditions: Conditions): void {
  const { ifMatch, ifNoneMatch, ifModifiedSinceMs, ifUnmodifiedSinceMs, ifTags } = conditions
  const all = [ifMatch, ifNoneMatch, ifModifiedSinceMs, ifUnmodifiedSinceMs, ifTags]
  if (all.some((condition) => condition !== undefined)) {
    throw new StorageError('ConditionHeadersNotSupported')
  }
}

/** If-Match and If-Unmodified-Since: each holds or was not sent. */
function isUnchanged(conditions: Conditions, current: Validators): boolean {
  const { ifMatch, ifUnmodifiedSinceMs } = conditions
  if (ifMatch !== undefined && ifMatch !== '*' && !isAmong(ifMatch, current)) return false
  if (ifUnmodifiedSinceMs === undefined) return true
  return seconds(current.modifiedMs) <= seconds(ifUnmodifiedSinceMs)
}

function isAmong(etags: readonly string[], { stamp }: Validators): boolean {
  return stamp !== undefined && etags.includes(etagOf(stamp))
}

/** A missing object has no tags. */
function isTagged({ ifTags }: Conditions, current: Validators | undefined): boolean {
  return ifTags === undefined || matchesTags(ifTags, current?.tags ?? [])
}

/** If-None-Match and If-Modified-Since: one of them holds, or neither was sent. */
function isChanged(conditions: Conditions, current: Validators): boolean {
  const { ifNoneMatch, ifModifiedSinceMs } = conditions
  if (ifNoneMatch === undefined && ifModifiedSinceMs === undefined) return true
  if (ifNoneMatch !== undefined && ifNoneMatch !== '*' && !isAmong(ifNoneMatch, current)) {
    return true
  }
  return ifModifiedSinceMs !== undefined && seconds(current.modifiedMs) > seconds(ifModifiedSinceMs)
}

/**
 * The only valid combinations are {If-None-Match, If-Modified-Since} and {If-Match, If-Unmodified-Since}, each
 * with one ETag, and then only the ETag counts.
 */
function pairedConditions(conditions: Conditions): Conditions {
  const { ifMatch, ifNoneMatch, ifModifiedSinceMs, ifUnmodifiedSinceMs } = conditions
  const isChange = ifNoneMatch !== undefined || ifModifiedSinceMs !== undefined
  const isNoChange = ifMatch !== undefined || ifUnmodifiedSinceMs !== undefined
  if ((isChange && isNoChange) || isSeveral(ifMatch) || isSeveral(ifNoneMatch)) {
    throw new StorageError('MultipleConditionHeadersNotSupported')
  }
  if (ifMatch !== undefined) return { ifMatch }
  if (ifNoneMatch !== undefined) return { ifNoneMatch }
  return conditions
}

function isSeveral(etags: ETags | undefined): boolean {
  return etags !== undefined && etags !== '*' && etags.length > 1
}

/** Dates in headers have whole seconds, so both sides are compared as such. */
function seconds(timeMs: number): number {
  return Math.floor(timeMs / 1000)
}
