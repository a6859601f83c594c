// Test helpers for CREATE, renames and deletes: an in-memory share and a client that opens files in it.
import assert from 'node:assert/strict'
import { openMemoryKv } from '../../../kv/memory-kv.ts'
import { createMoments, type Moment } from '../../../node/moment.ts'
import { closeOpen } from './close-open.ts'
import { getOpen, type FileEvent, type FileKv, type FileOpen } from './open.ts'
import { createShare } from '../share/share-change.ts'
import { requireShare } from '../share/share.ts'
import { creatorOf } from '../security/smb-identity.ts'
import { openFile, type Opened, type OpenOutcome, type OpenRequest } from './smb-open.ts'

export const ADDRESS = { account: 'account', share: 'share' }
export const SHARE_ID = 1
export const VIEW = { shareId: SHARE_ID, lastSnapshot: 0 }
export const ALL_ACCESS = 0x001f_01ff
export const READ_ACCESS = 0x0012_0089

/** Options of a CREATE; the rest are the defaults of most clients. */
export type OpenOptions = Partial<Omit<OpenRequest, 'open' | 'path' | 'properties'>> & {
  readonly shareAccess?: number
  readonly deleteOnClose?: boolean
  readonly attributes?: number
  readonly descriptorBytes?: Uint8Array
}

export type ExampleShare = {
  readonly kv: FileKv
  readonly events: FileEvent[]
  moment(): Moment
  newId(): number
  tryOpen(path: string, options?: OpenOptions): Promise<OpenOutcome>
  open(path: string, options?: OpenOptions): Promise<Opened>
  close(open: FileOpen): Promise<void>
}

export async function exampleShare(): Promise<ExampleShare> {
  const kv = openMemoryKv<FileEvent>()
  let nowMs = Date.UTC(2030, 0, 1)
  const moment = createMoments(() => (nowMs += 1_000), 0)
  let lastId = SHARE_ID
  const newId = (): number => (lastId += 1)
  const events: FileEvent[] = []
  const share = { id: SHARE_ID, metadata: [], provision: {} }
  await kv.write((tx) => createShare(tx, ADDRESS, share, moment()))
  kv.listen((event) => events.push(event))
  const tryOpen = (path: string, options: OpenOptions = {}): Promise<OpenOutcome> => {
    const request = requestOf(path, options, newId)
    const now = moment()
    return kv.write((tx) => openFile(tx, request, now))
  }
  return {
    kv,
    events,
    moment,
    newId,
    tryOpen,
    async open(path, options) {
      const outcome = await tryOpen(path, options)
      assert(outcome.kind === 'opened', 'the open must not wait')
      return outcome
    },
    close: (open) =>
      kv.write(function* (tx) {
        const record = yield* getOpen(tx, open)
        assert(record !== undefined, 'the handle must be open')
        yield* closeOpen(tx, yield* requireShare(tx, ADDRESS), record, moment())
      }),
  }
}

function requestOf(path: string, options: OpenOptions, newId: () => number): OpenRequest {
  const { shareAccess = 7, deleteOnClose, attributes = 0, descriptorBytes, ...rest } = options
  return {
    address: ADDRESS,
    shareId: SHARE_ID,
    path: path === '' ? [] : path.split('/'),
    disposition: 'openIf',
    wants: 'any',
    desiredAccess: ALL_ACCESS,
    cache: undefined,
    newNodeId: newId(),
    open: {
      openId: newId(),
      shareAccess,
      sessionId: '1',
      clientIp: '10.0.0.1:50000',
      openedMs: 0,
      ...(deleteOnClose === true && { deleteOnClose }),
    },
    properties: {
      attributes,
      ...(descriptorBytes && { descriptorBytes }),
      ...(rest.identity && { creator: creatorOf(rest.identity) }),
    },
    ...rest,
  }
}

/** The code of the StorageError or the status of the SmbRefused that a promise rejects with; 'done' if it resolves. */
export async function refusalOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
    return 'done'
  } catch (error) {
    assert(error instanceof Error)
    if ('code' in error) return String(error.code)
    assert('status' in error, error.stack ?? error.message)
    return String(error.status)
  }
}
