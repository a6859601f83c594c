// CHANGE_NOTIFY, [MS-SMB2] 2.2.35 and 2.2.36, and the list of changes, [MS-FSCC] 2.7.1.
import { alignTo, checkBody, encodeOutputBuffer, HEADER_BYTES } from '../body.ts'
import { decodeFileId, type FileId } from '../file-id.ts'

const WATCH_TREE = 1

export const NOTIFY_ACTION = { added: 1, removed: 2, modified: 3, oldName: 4, newName: 5 } as const

export type ChangeNotifyRequest = {
  readonly watchTree: boolean
  readonly outputMaxBytes: number
  readonly fileId: FileId
  readonly completionFilter: number
}

export function decodeChangeNotifyRequest(message: Buffer): ChangeNotifyRequest {
  checkBody(message, 32)
  return {
    watchTree: (message.readUInt16LE(HEADER_BYTES + 2) & WATCH_TREE) !== 0,
    outputMaxBytes: message.readUInt32LE(HEADER_BYTES + 4),
    fileId: decodeFileId(message, HEADER_BYTES + 8),
    completionFilter: message.readUInt32LE(HEADER_BYTES + 24),
  }
}

/** The name is relative to the watched directory. */
export type Change = { readonly action: number; readonly name: string }

/** undefined if they do not all fit. The response is then NOTIFY_ENUM_DIR without changes. */
export function encodeChanges(
  changes: readonly Change[],
  outputMaxBytes: number,
): Buffer | undefined {
  const sizes = changes.map(({ name }) => 12 + 2 * name.length)
  const starts: number[] = []
  let end = 0
  for (const size of sizes) {
    const start = alignTo(end, 4)
    starts.push(start)
    end = start + size
    if (end > outputMaxBytes) return undefined
  }
  const list = Buffer.alloc(end)
  for (const [index, { action, name }] of changes.entries()) {
    const start = starts[index] ?? 0
    list.writeUInt32LE((starts[index + 1] ?? start) - start, start)
    list.writeUInt32LE(action, start + 4)
    list.writeUInt32LE(2 * name.length, start + 8)
    list.write(name, start + 12, 'utf16le')
  }
  return list
}

export function encodeChangeNotifyResponse(changes: Buffer): Buffer {
  return encodeOutputBuffer(changes)
}
