// A file as the source of a copy.
import type { Request } from '../../../http/door/operation.ts'
import { findFileState } from '../../../storage/file/copy/source.ts'
import type { SourceObject } from '../../shared/copy/copy-sources.ts'
import { afterBreaks } from '../breaks.ts'
import { fileAddressAt, type FileService } from '../service.ts'

/** How files are read: with what SMB clients hold open, and after waiting for what they cache. */
export type SourceFiles = Pick<FileService, 'kv' | 'after'>

/** The file that a request names, for copies to either service. */
export function fileSource(files: SourceFiles, asked: Request): SourceObject {
  const address = fileAddressAt(asked)
  return {
    account: address.account,
    find: (tx) => findFileState(tx, address),
    attempt: (request, attempt) => afterBreaks(files, request, () => attempt(files.kv)),
  }
}
