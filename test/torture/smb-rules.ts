// What SMB clients do, without SMB: calls the rules of files as its commands do, so that a simulation can put their reads and
// commits in order.
import assert from 'node:assert/strict'
import { smallPiece } from '../../src/extent/content/small.ts'
import type { FileService } from '../../src/rest/file/service.ts'
import { smbErrorOf } from '../../src/smb/smb-error.ts'
import { readOpened, writeOpened } from '../../src/storage/file/bytes/smb-range.ts'
import { closeRecord } from '../../src/storage/file/open/close-open.ts'
import type { FileOpen } from '../../src/storage/file/open/open.ts'
import { disposeOfOpened } from '../../src/storage/file/open/smb-disposition.ts'
import { openFile, type OpenRequest } from '../../src/storage/file/open/smb-open.ts'
import { renameOpened } from '../../src/storage/file/open/smb-rename.ts'
import { requireShare } from '../../src/storage/file/share/share.ts'
import type { Reply, Request, Send } from '../../src/torture/drive/kind.ts'
import { ACCOUNT } from '../harness.ts'

/** [MS-SMB2] 2.2.13 */
const ACCESS: Readonly<Record<string, number>> = { R: 0x1, W: 0x2, D: 0x1_0000 }
const SHARE: Readonly<Record<string, number>> = { R: 1, W: 2, D: 4 }
const READ_BYTES = 8_192

export function smbRulesOf(file: FileService): Send {
  const opens = new Map<string, FileOpen>()
  return async (request) => {
    try {
      const body = await run(file, opens, request)
      return { status: 200, headers: {}, body }
    } catch (error) {
      return refusedReply(error)
    }
  }
}

async function run(
  file: FileService,
  opens: Map<string, FileOpen>,
  { method, path, headers = {}, body = '' }: Request,
): Promise<Buffer> {
  const { kv, newId } = file
  const [share = '', ...names] = path.slice(1).split('/')
  const { handle = '', to = '', offset } = headers
  const [address, moment] = [{ account: ACCOUNT, share }, file.moment()]
  if (method === 'OPEN') {
    const { id } = await kv.read((tx) => requireShare(tx, address))
    const request = openRequest({ address, shareId: id, path: names }, headers, newId)
    const outcome = await kv.write((tx) => openFile(tx, request, moment))
    assert(outcome.kind === 'opened', 'nobody caches anything')
    opens.set(handle, outcome.open)
    return NOTHING
  }
  const open = opens.get(handle)
  assert(open !== undefined, 'it was opened')
  switch (method) {
    case 'READ': {
      const range = { offset: 0, lengthBytes: READ_BYTES }
      const found = await kv.read((tx) => readOpened(tx, { address, open }, range))
      assert(found === undefined || 'bytes' in found, 'files are small')
      return found === undefined ? NOTHING : Buffer.from(found.bytes)
    }
    case 'WRITE': {
      const bytes = Buffer.from(body)
      const write = { offset: Number(offset), lengthBytes: bytes.length, frozen: {} }
      const pieces = [smallPiece(newId(), bytes)]
      const by = { moment, newId: newId() }
      await kv.write((tx) => writeOpened(tx, { address, open }, write, pieces, by))
      return NOTHING
    }
    case 'RENAME': {
      const rename = { path: to.split('/'), replaceIfExists: false, posixSemantics: false, frozen: {} } // prettier-ignore
      await kv.write((tx) => renameOpened(tx, address, open, rename, moment))
      return NOTHING
    }
    case 'DELETE': {
      const disposal = { deletePending: true, posixSemantics: false, ignoreReadOnly: false }
      await kv.write((tx) => disposeOfOpened(tx, address, open, disposal))
      return NOTHING
    }
    default:
      await kv.write((tx) => closeRecord(tx, address, open, moment))
      return NOTHING
  }
}

const NOTHING = Buffer.alloc(0)

function openRequest(
  place: Pick<OpenRequest, 'address' | 'shareId' | 'path'>,
  { access = '', share = '', disposition }: NonNullable<Request['headers']>,
  newId: () => number,
): OpenRequest {
  const sum = (letters: string, of: Readonly<Record<string, number>>): number =>
    [...letters].reduce((all, letter) => all | (of[letter] ?? 0), 0)
  return {
    ...place,
    disposition: disposition === 'create' ? 'create' : 'open',
    wants: 'file',
    desiredAccess: sum(access, ACCESS),
    cache: undefined,
    newNodeId: newId(),
    open: {
      openId: newId(),
      shareAccess: sum(share, SHARE),
      sessionId: '1',
      clientIp: '10.0.0.1:50000',
      openedMs: 0,
    },
    properties: { attributes: 0 },
  }
}

function refusedReply(error: unknown): Reply {
  const code = smbErrorOf(error)?.status
  if (code === undefined) throw error
  const status = code === 'OBJECT_NAME_NOT_FOUND' ? 404 : 409
  return { status, headers: { 'x-ms-error-code': code }, body: NOTHING }
}
