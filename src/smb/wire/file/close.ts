// CLOSE, [MS-SMB2] 2.2.15 and 2.2.16.
import { checkBody, HEADER_BYTES } from '../body.ts'
import { writeOpenedFile, type OpenedFile } from '../opened-file.ts'
import { decodeFileId, type FileId } from '../file-id.ts'

const POSTQUERY_ATTRIB = 1

export type CloseRequest = { readonly postQueryAttributes: boolean; readonly fileId: FileId }

export function decodeCloseRequest(message: Buffer): CloseRequest {
  checkBody(message, 24)
  return {
    postQueryAttributes: (message.readUInt16LE(HEADER_BYTES + 2) & POSTQUERY_ATTRIB) !== 0,
    fileId: decodeFileId(message, HEADER_BYTES + 8),
  }
}

/** With the file's attributes if they were requested, otherwise zeros. */
export function encodeCloseResponse(file: OpenedFile | undefined): Buffer {
  const body = Buffer.alloc(60)
  body.writeUInt16LE(60, 0)
  if (file === undefined) return body
  body.writeUInt16LE(POSTQUERY_ATTRIB, 2)
  writeOpenedFile(body, 8, file)
  return body
}
