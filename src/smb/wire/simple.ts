// Commands whose bodies contain only their size, and FLUSH, which only names a file:
// [MS-SMB2] 2.2.7, 2.2.8, 2.2.11, 2.2.12, 2.2.17, 2.2.18, 2.2.28 to 2.2.30.
import { checkBody, HEADER_BYTES } from './body.ts'
import { decodeFileId, type FileId } from './file-id.ts'

export type FlushRequest = { readonly fileId: FileId }

export function decodeFlushRequest(message: Buffer): FlushRequest {
  checkBody(message, 24)
  return { fileId: decodeFileId(message, HEADER_BYTES + 8) }
}

/** LOGOFF, TREE_DISCONNECT, ECHO and CANCEL: four bytes, of which two are reserved. */
export function checkSimpleRequest(message: Buffer): void {
  checkBody(message, 4)
}

/** The response of LOGOFF, TREE_DISCONNECT, FLUSH, LOCK and ECHO. */
export function encodeSimpleResponse(): Buffer {
  return Buffer.from([4, 0, 0, 0])
}
