// What each operation changes of an object, as a table, and whether one write destroys what another has written.
import { sentRange, type ByteSpan } from './act.ts'
import type { Entry } from '../entry.ts'
import type { Note } from '../object.ts'

type Aspect = 'content' | 'metadata' | 'properties' | 'access'

export type Effect = {
  readonly aspects: readonly Aspect[]
  /** Only some bytes or some properties of the content; the rest stays. */
  readonly isPartial?: true
  /** Goes behind what is there. */
  readonly isAppended?: true
  /** The object need not exist. */
  readonly isCreate?: true
  /** The operation is a condition by itself, or has conditions in its body, which are not known here. */
  readonly isChecked?: true
}

const REPLACE: Effect = { aspects: ['content', 'metadata', 'properties'], isCreate: true }
/** A deletion too. */
const UPDATE: Effect = { aspects: ['content', 'metadata', 'properties'] }
const PART: Effect = { aspects: ['content'], isPartial: true }
const APPEND: Effect = { aspects: ['content'], isPartial: true, isAppended: true }
const METADATA: Effect = { aspects: ['metadata'], isPartial: true }
const PROPERTIES: Effect = { aspects: ['properties'], isPartial: true }
const ACCESS: Effect = { aspects: ['access'], isPartial: true }

/** Operations that are not here overwrite nothing that a client could have read. */
const EFFECTS: Readonly<Record<string, Effect>> = {
  'Put Blob': REPLACE,
  'Put Blob From URL': REPLACE,
  'Put Page Blob': REPLACE,
  'Put Append Blob': REPLACE,
  'Put Block List': REPLACE,
  'Copy Blob': REPLACE,
  'Copy Blob From URL': REPLACE,
  'Put Page': PART,
  'Put Page From URL': PART,
  'Clear Pages': PART,
  'Append Block': APPEND,
  'Append Block From URL': APPEND,
  'Set Blob Metadata': METADATA,
  'Set Blob Properties': PROPERTIES,
  'Delete Blob': UPDATE,
  'Set Container Metadata': METADATA,
  'Set Container ACL': ACCESS,
  'Insert Entity': { ...REPLACE, isChecked: true },
  'Entity Group Transaction': { ...REPLACE, isChecked: true },
  'Insert Or Replace Entity': REPLACE,
  'Insert Or Merge Entity': { ...PART, isCreate: true },
  'Update Entity': UPDATE,
  'Merge Entity': PART,
  'Delete Entity': UPDATE,
  'Create File': REPLACE,
  'Copy File': REPLACE,
  'Put Range': PART,
  'Put Range from URL': PART,
  'Clear Range': PART,
  'Set File Metadata': METADATA,
  'Set File Properties': PROPERTIES,
  'Delete File': UPDATE,
  'Set Directory Metadata': METADATA,
  'Set Directory Properties': PROPERTIES,
  'Set Share Metadata': METADATA,
  'Set Share Properties': PROPERTIES,
  'Set Share ACL': ACCESS,
  'Set Filesystem Properties': METADATA,
  'Create Path': REPLACE,
  // What it replaces is gone.
  'Rename Path': REPLACE,
  // A flush at another position than the end is refused.
  'Append Data': APPEND,
  'Flush Data': APPEND,
  'Set Path Properties': { aspects: ['metadata', 'properties'], isPartial: true },
  'Set Access Control': ACCESS,
  'Delete Path': UPDATE,
  // Of SMB, whose ranges the journal does not have.
  WRITE: PART,
}

export function effectOf({ operation, target }: Entry): Effect | undefined {
  // A directory that is created again keeps what is in it.
  if (operation === 'Create Path' && /[?&]resource=directory/i.test(target)) return undefined
  return EFFECTS[operation]
}

export type WrittenNote = { readonly entry: Entry; readonly note: Note }

/**
 * - no: both are there afterwards.
 * - harmless: so they are, but only because they are about different properties of an entity.
 */
export type Destruction = 'yes' | 'harmless' | 'no'

/** Whether a later write destroys what an earlier one has written. */
export function destruction(later: WrittenNote, earlier: WrittenNote): Destruction {
  const [mine, other] = [effectOf(later.entry), effectOf(earlier.entry)]
  if (mine === undefined || other === undefined || mine.isAppended || mine.isChecked) return 'no'
  if (!mine.aspects.some((aspect) => other.aspects.includes(aspect))) return 'no'
  if (earlier.note.after === undefined) return mine.isCreate ? 'yes' : 'no'
  if (!mine.isPartial || !mine.aspects.includes('content')) return 'yes'
  if (later.note.kind === 'entity') {
    return sharesPart(later.note.parts, earlier.note.parts) ? 'yes' : 'harmless'
  }
  return changesBytes(earlier, [sentRange(later.entry)]) ? 'yes' : 'no'
}

/** Names that are not known may be any. */
function sharesPart(
  mine: readonly string[] | undefined,
  others: readonly string[] | undefined,
): boolean {
  if (mine === undefined || others === undefined) return true
  return mine.some((name) => others.includes(name))
}

/** Whether a write changed bytes in one of these ranges. */
export function changesBytes(
  { entry }: WrittenNote,
  spans: readonly (ByteSpan | undefined)[],
): boolean {
  const effect = effectOf(entry)
  if (effect === undefined || !effect.aspects.includes('content')) return false
  if (effect.isAppended) return false
  if (!effect.isPartial) return true
  const written = sentRange(entry)
  return spans.some(
    (span) =>
      span !== undefined &&
      written !== undefined &&
      span.first <= written.last &&
      written.first <= span.last,
  )
}
