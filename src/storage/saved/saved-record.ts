// A record inside a saved state. Its bytes in extents are shared: it refers to the same slices as the original under a
// content id of its own, so the sweep, compaction and fsck treat it like any other record with content.
import { addReferences, removeReferences } from '../../extent/content/reference.ts'
import type { Content } from '../../extent/content/slice.ts'
import { encodeKey } from '../../kv/key.ts'
import { prefixRange, type Entry, type Key, type Step, type Tx } from '../../kv/kv.ts'
import { decodeRecord, encodeRecord, recordBytes, StoredRecord } from '../../kv/record.ts'

/**
 * Kinds of records that a state does not have: what belongs to the place and its servers, ids and stamps, which must not be
 * used again, the index of extents, which follows the records, SMB opens, which end, and keys of encryption scopes, which
 * whoever runs the server has given.
 */
const UNSAVED_KINDS: readonly string[] = [
  'bytes-kind',
  'cluster-secret',
  'encryption-scope',
  'extent',
  'extent-dirty',
  'extent-due',
  'extent-folder',
  'extent-next',
  'extent-open',
  'extent-reference',
  'format',
  'live',
  'moment-floor',
  'next-id',
  'node',
  'owner',
  'persistent-open',
  'role',
  'role-term',
  'saved',
  'saved-discarded',
  'saved-restoring',
  'saved-state',
  'seeding',
  'small-dropped',
  'small-slice',
  'store-id',
]

const UNSAVED_RANGES = UNSAVED_KINDS.map((kind) => prefixRange(encodeKey(kind)))

/** Where to go on behind the records of this kind, if a state does not have them. */
export function behindUnsaved(key: Key): Key | undefined {
  return UNSAVED_RANGES.find(
    ({ from, to }) => Buffer.compare(from, key) <= 0 && Buffer.compare(key, to) < 0,
  )?.to
}

type AnyRecord = {
  readonly content?: Content
  /** The bytes of the content follow the record. */
  readonly inline?: boolean
  /** Of a saved record: the content id of the original. */
  readonly savedContentId?: number
}

type WithContent = AnyRecord & { readonly content: Content }

function hasContent(record: AnyRecord): record is WithContent {
  return record.content !== undefined && record.inline !== true
}

/** `newId`: for the content, if it has one. */
export function* putSaved(tx: Tx, key: Key, { value }: Entry, newId: number): Step<void> {
  const record = decodeRecord<AnyRecord>(value)
  if (!hasContent(record)) return tx.put(key, new StoredRecord(value.value))
  const content = { ...record.content, id: newId }
  const saved = { ...record, content, savedContentId: record.content.id }
  tx.put(key, encodeRecord(saved, recordBytes(value)))
  yield* addReferences(tx, key, content)
}

/** The original record; the same bytes as it had, unless compaction has moved its slices. */
export function originalOf(value: StoredRecord): StoredRecord {
  const record = decodeRecord<AnyRecord>(value)
  const { savedContentId, ...original } = record
  if (!hasContent(original) || savedContentId === undefined) return new StoredRecord(value.value)
  const content = { ...original.content, id: savedContentId }
  return encodeRecord({ ...original, content }, recordBytes(value))
}

export function* putOriginal(tx: Tx, key: Key, value: StoredRecord): Step<void> {
  const original = originalOf(value)
  tx.put(key, original)
  const content = storedContent(original)
  if (content !== undefined) yield* addReferences(tx, key, content)
}

/** The content of a record of any kind, if it has some and does not contain it. */
export function storedContent(value: StoredRecord): Content | undefined {
  const record = decodeRecord<AnyRecord>(value)
  return hasContent(record) ? record.content : undefined
}

/** Also for records of other kinds: with the references of its content. */
export function* deleteWithContent(tx: Tx, { key, value }: Entry): Step<void> {
  const content = storedContent(value)
  if (content !== undefined) yield* removeReferences(tx, content)
  tx.delete(key)
}
