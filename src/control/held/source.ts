// Where what is held comes from.
import type { EventKv } from '../../kv/kv.ts'
import type { Moment } from '../../node/moment.ts'
import type { FileEvent, FileKv } from '../../storage/file/open/open.ts'
import type { Journal } from '../journal.ts'

export type HeldSource = {
  readonly kv: EventKv<FileEvent>
  moment(): Moment
  readonly journal: Journal | undefined
  /** The store of the File service; undefined if another node is the home of the files. */
  files(): FileKv | undefined
  /** The name with which the client of an SMB open has logged in. */
  userOf(openId: number): string | undefined
}
