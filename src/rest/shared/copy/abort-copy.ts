// Decodes Abort Copy Blob and Abort Copy File.
import { optionalGuid, optionalWord } from '../../../http/protocol/header.ts'
import type { Request } from '../../../http/door/operation.ts'
import { invalidQuery, missingHeader, StorageError } from '../../../storage/shared/error.ts'

/** The only action is `abort`. */
export function checkCopyAction({ headers }: Request): void {
  const action = optionalWord(headers, 'x-ms-copy-action', ['abort'])
  if (action === undefined) throw missingHeader('x-ms-copy-action')
}

export function decodeCopyId({ query }: Request): string {
  const text = query.get('copyid') ?? ''
  try {
    const id = optionalGuid({ copyid: text }, 'copyid')
    if (id !== undefined) return id
  } catch {
    throw invalidQuery('copyid', text, 'copyid needs to be valid Guid.')
  }
  throw new StorageError('MissingRequiredQueryParameter', { QueryParameterName: 'copyid' })
}
