// FileBasicInformation ([MS-FSCC] 2.4.7, [MS-FSA] 2.1.5.15.2): attributes and times, and which times are frozen for a
// handle, so that its operations don't update them.
import { fileTimeOf, type FileTime } from './file-time.ts'
import type { FileOpen, FileTx } from '../open/open.ts'
import { requireOpened } from '../open/opened-node.ts'
import type { Step } from '../../../kv/kv.ts'
import { StorageError } from '../../shared/error.ts'
import type { Moment } from '../../../node/moment.ts'
import { DIRECTORY, SETTABLE_ATTRIBUTES } from './attributes.ts'
import { setNodeProperties } from './file-properties.ts'
import type { Existing, FileNode } from './node.ts'
import type { SmbProperties, TimeChange } from './smb-properties.ts'
import type { ShareAddress } from '../share/share.ts'

/** The times that a handle does not update, because it has set or frozen them. */
export type FrozenTimes = { readonly lastWrite?: boolean; readonly change?: boolean }

/** A time, or the meaning of 0, -1 and -2. */
export type BasicTime = FileTime | 'leave' | 'freeze' | 'resume'

export type BasicChange = {
  readonly creationTime: BasicTime
  readonly lastAccessTime: BasicTime
  readonly lastWriteTime: BasicTime
  readonly changeTime: BasicTime
  /** FILE_ATTRIBUTE_*; 0 leaves them unchanged. */
  readonly attributes: number
}

const TEMPORARY = 0x100

/** NORMAL means no attributes. A file can't become a directory, and a directory can't be temporary. */
export function attributesAfter(
  { kind, attributes }: Pick<FileNode, 'kind' | 'attributes'>,
  change: number,
): number {
  if (change === 0) return attributes
  const isForbidden = (change & (kind === 'directory' ? TEMPORARY : DIRECTORY)) !== 0
  if (isForbidden) throw new StorageError('InvalidInput')
  return change & SETTABLE_ATTRIBUTES
}

/** Setting a time also freezes it: later operations of the handle don't update it. */
export function frozenAfter(frozen: FrozenTimes, change: BasicChange): FrozenTimes {
  const next = (was: boolean | undefined, time: BasicTime): boolean =>
    time === 'leave' ? was === true : time !== 'resume'
  return {
    lastWrite: next(frozen.lastWrite, change.lastWriteTime),
    change: next(frozen.change, change.changeTime),
  }
}

/** The properties that keep frozen times unchanged. */
export function frozenTimes(node: FileNode, frozen: FrozenTimes): SmbProperties {
  return {
    ...(frozen.lastWrite === true && { lastWriteTime: { at: node.lastWriteTime } }),
    ...(frozen.change === true && { changeTime: { at: node.changeTime } }),
  }
}

export function* setBasic(
  tx: FileTx,
  existing: Existing,
  change: BasicChange,
  /** The result of frozenAfter. */
  frozen: FrozenTimes,
  moment: Moment,
): Step<FileNode> {
  const { node } = existing
  // Neither freezing nor resuming the change time updates it.
  const isChangeFrozen = frozen.change === true || change.changeTime === 'resume'
  const properties: SmbProperties = {
    ...frozenTimes(node, { change: isChangeFrozen }),
    attributes: attributesAfter(node, change.attributes),
    ...given('creationTime', change.creationTime),
    ...given('lastAccessTime', change.lastAccessTime),
    ...given('lastWriteTime', change.lastWriteTime),
    ...given('changeTime', change.changeTime),
  }
  return yield* setNodeProperties(tx, existing, { properties }, moment)
}

type TimeName = 'creationTime' | 'lastAccessTime' | 'lastWriteTime' | 'changeTime'

function given(name: TimeName, time: BasicTime): Partial<Record<TimeName, TimeChange>> {
  if (time === 'leave' || time === 'freeze' || time === 'resume') return {}
  return { [name]: { at: time } }
}

export function* setOpenedBasic(
  tx: FileTx,
  address: Pick<ShareAddress, 'account' | 'share'>,
  open: FileOpen,
  { basic, frozen }: { readonly basic: BasicChange; readonly frozen: FrozenTimes },
  moment: Moment,
): Step<void> {
  const opened = yield* requireOpened(tx, address, open)
  yield* setBasic(tx, opened, basic, frozen, moment)
}

export function* setWriteTime(
  tx: FileTx,
  address: Pick<ShareAddress, 'account' | 'share'>,
  open: FileOpen,
  frozen: FrozenTimes,
  moment: Moment,
): Step<void> {
  const opened = yield* requireOpened(tx, address, open)
  // Rounded up, so that it is not before the client's CLOSE.
  const lastWriteTime = { at: fileTimeOf(moment.nowMs + 1) }
  const properties = { ...frozenTimes(opened.node, frozen), lastWriteTime }
  yield* setNodeProperties(tx, opened, { properties }, moment)
}
