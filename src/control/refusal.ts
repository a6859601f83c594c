// Why a request was refused, if that is because of what somebody else did.
import { isLeaseRunning } from '../storage/shared/lease.ts'
import { conditionsOf, mainNote, stateETag, type Entry } from './entry.ts'

/** The first row that matches an error code names what refused the request. */
const CAUSES: readonly (readonly [RegExp, string])[] = [
  [/^Lease|SnapshotLeased$|^InfiniteLease/, 'lease'],
  [/^(SharingViolation|SHARING_VIOLATION)$/, 'share mode'],
  [/^(FileLockConflict|FILE_LOCK_CONFLICT|LOCK_NOT_GRANTED)$/, 'byte-range lock'],
  [/^(PopReceiptMismatch|MessageNotFound)$/, 'pop receipt'],
  [/AlreadyExists$|^OBJECT_NAME_COLLISION$/, 'existence'],
  [/^(SMBDeletePending|DELETE_PENDING)$/, 'pending delete'],
  [/BeingDeleted$/, 'deletion'],
  [/LegalHold$/, 'legal hold'],
  [/^BlobImmutable|^ImmutabilityPolicy/, 'immutability policy'],
  [/^(SnapshotsPresent|ShareHasSnapshots)$/, 'snapshots'],
  [/NotEmpty$|^DIRECTORY_NOT_EMPTY$/, 'content'],
  [/^(PathConflict|ResourceTypeMismatch|InvalidBlobType|InvalidDestinationPath)$/, 'type'],
  [/PendingCopyOperation$|^CopyIdMismatch$/, 'pending copy'],
  [/^BlobIsSealed$/, 'seal'],
  [/^(BlobArchived|BlobBeingRehydrated)$/, 'access tier'],
  [/^ReadOnlyAttribute$/, 'read-only attribute'],
  [/^(ResourceNotFound|BlobNotFound|PathNotFound|SourcePathNotFound)$/, 'deletion'],
]

export type Refusal = Pick<Entry, 'status' | 'errorCode'>

/** Codes of other statuses than 409 and 412 that tell of a conflict. */
const CONFLICT_CODES: ReadonlySet<string> = new Set([
  'PopReceiptMismatch',
  'MessageNotFound',
  'SHARING_VIOLATION',
  'FILE_LOCK_CONFLICT',
  'LOCK_NOT_GRANTED',
  'DELETE_PENDING',
  'OBJECT_NAME_COLLISION',
  'DIRECTORY_NOT_EMPTY',
])

/** The status and the code say that somebody else stood in the way. */
export function isRefusedByState({ status, errorCode }: Refusal): boolean {
  if (errorCode === undefined) return false
  return status === 409 || status === 412 || CONFLICT_CODES.has(errorCode)
}

/** Also a write that was late: somebody had deleted or renamed what it was about. */
export function isConflict(entry: Refusal & Pick<Entry, 'lostTo'>): boolean {
  return entry.lostTo !== undefined || isRefusedByState(entry)
}

/** Which condition or lock refused the request. */
export function refusedBy(entry: Entry): string | undefined {
  const { errorCode: code } = entry
  if (code === undefined || !isConflict(entry)) return undefined
  if (isConditionCode(code)) return unmetConditions(entry).map(headerName).join(', ')
  const [, cause] = CAUSES.find(([codes]) => codes.test(code)) ?? []
  return cause === 'share mode' && isLeasedAgainstSmb(entry) ? 'lease' : cause
}

/** SMB clients have no other word for a lease that was taken over REST. */
export function isLeasedAgainstSmb(entry: Pick<Entry, 'service' | 'notes' | 'path' | 'startedMs'>) {
  if (entry.service !== 'smb' || entry.notes.some(({ kind }) => kind === 'open')) return false
  return isLeaseRunning(mainNote(entry)?.before?.lease, entry.startedMs)
}

export function isConditionCode(code: string): boolean {
  return /Condition/.test(code) || code === 'CannotVerifyCopySource'
}

/** Those of the sent conditions that the state does not meet; all of them if that can't be told. */
export function unmetConditions(
  entry: Pick<
    Entry,
    'headers' | 'target' | 'notes' | 'path' | 'service' | 'operation' | 'errorCode'
  >,
): readonly string[] {
  const sent = conditionsOf(entry) ?? {}
  const names = Object.keys(sent).filter((name) => name !== 'x-ms-lease-id')
  // The parts of a transaction have theirs in the body.
  if (names.length === 0 && entry.operation === 'Entity Group Transaction') return ['if-match']
  const note = mainNote(entry)
  const etag = note?.before === undefined ? undefined : stateETag(note.kind, note.before)
  const unmet = names.filter((name) => {
    const value = sent[name]
    if (name === 'if-match') return etag === undefined || (value !== '*' && value !== etag)
    if (name === 'if-none-match') return etag !== undefined && (value === '*' || value === etag)
    return false
  })
  return unmet.length > 0 ? unmet : names
}

function headerName(name: string): string {
  if (!name.startsWith('if-')) return name
  return name.replaceAll(
    /(^|-)([a-z])/g,
    (_, dash: string, letter: string) => dash + letter.toUpperCase(),
  )
}
