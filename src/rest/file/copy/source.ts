// A file as the source of a copy.
import type { RequestWatch } from '../../../control/watch.ts'
import type { Request } from '../../../http/door/operation.ts'
import { findFileState } from '../../../storage/file/copy/source.ts'
import type { SourceObject } from '../../shared/copy/copy-sources.ts'
import { attemptAfterBreaks } from '../breaks.ts'
import { fileAddressAt, type FileService } from '../service.ts'

/** What reading a file needs: it respects the opens of SMB clients and waits for their caches. */
export type SourceFiles = Pick<FileService, 'kv' | 'after'>

/** The file that a request addresses, for copies to either service. */
export function fileSource(
  files: SourceFiles,
  request: Request,
  watch: RequestWatch | undefined,
): SourceObject {
  const { kv } = watch?.over(files) ?? files
  const address = fileAddressAt(request)
  return {
    account: address.account,
    find: (tx) => findFileState(tx, address),
    attempt: (request, attempt) => attemptAfterBreaks(files, request, () => attempt(kv)),
  }
}
