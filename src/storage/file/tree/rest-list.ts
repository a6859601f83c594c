// List Directories and Files: the entries of a directory, unless an SMB client has it open exclusively.
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { listEntries, type EntryPage, type ListEntries } from './list.ts'
import { locate, type FileAddress } from './node.ts'
import { requireNamed } from '../open/rest-guard.ts'
import { checkOpens } from '../open/rest-access.ts'

export function* listDirectory(
  tx: ReadTx,
  address: FileAddress,
  list: ListEntries,
): Step<EntryPage & { readonly directoryId: number }> {
  const { share, view, node } = requireNamed(yield* locate(tx, address), 'directory')
  if (view.snapshot === undefined) yield* checkOpens(tx, share.id, node, 'List')
  return { directoryId: node.nodeId, ...(yield* listEntries(tx, view, node.nodeId, list)) }
}
