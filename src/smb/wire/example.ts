// Fixtures of this folder's tests: requests written in hex as in the specification, and recorded sessions.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { OpenedFile } from './opened-file.ts'
import { encodeHeader } from './header.ts'

const FOLDER = join(import.meta.dirname, '../../../test/smb/wire-vectors')

export type RecordedMessage = { readonly from: 'client' | 'server'; readonly bytes: Buffer }
export type RecordedSession = {
  readonly name: string
  readonly messages: readonly RecordedMessage[]
}

/** Decrypted sessions between a client and another server. Payloads and security buffers are invented. */
export function recordedSessions(): readonly RecordedSession[] {
  return globSync('*.json', { cwd: FOLDER })
    .sort()
    .map((name) => {
      const session = JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as { messages: string[] }
      const messages = session.messages.map((line): RecordedMessage => {
        const [side, hex = ''] = line.split(' ')
        return { from: side === 'C' ? 'client' : 'server', bytes: Buffer.from(hex, 'hex') }
      })
      return { name, messages }
    })
}

/** A whole message: a header for the command, and the body in hex, with spaces for readability. */
export function requestMessage(command: number, bodyHex: string): Buffer {
  const header = encodeHeader({
    creditCharge: 1,
    status: 0,
    command,
    credits: 1,
    flags: 0,
    nextCommand: 0,
    messageId: 7n,
    treeId: 5,
    asyncId: undefined,
    sessionId: 9n,
  })
  return Buffer.concat([header, hex(bodyHex)])
}

export function hex(text: string): Buffer {
  return Buffer.from(text.replaceAll(/\s/g, ''), 'hex')
}

export function utf16(text: string): string {
  return Buffer.from(text, 'utf16le').toString('hex')
}

export const FILE_ID_HEX = '0102030405060708 1112131415161718'
export const FILE_ID = { persistent: 0x0807060504030201n, volatile: 0x1817161514131211n }

export const OPENED_FILE: OpenedFile = {
  creationTime: 0x01d0000000000001n,
  lastAccessTime: 0x01d0000000000002n,
  lastWriteTime: 0x01d0000000000003n,
  changeTime: 0x01d0000000000004n,
  allocationSize: 0x2000,
  endOfFile: 0x1234,
  fileAttributes: 0x20,
}

/** OPENED_FILE as 52 bytes: four times, two sizes, attributes. */
export const OPENED_FILE_HEX =
  '010000000000d001 020000000000d001 030000000000d001 040000000000d001' +
  '0020000000000000 3412000000000000 20000000'
