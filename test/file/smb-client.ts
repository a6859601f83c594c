// An SMB client as REST sees it: writes the volatile records of its opens, locks, leases and deletion marks as the SMB
// server does, and acknowledges lease breaks.
import assert from 'node:assert/strict'
import { parseFilePath } from '../../src/storage/file/tree/file-name.ts'
import { locate, requireNode } from '../../src/storage/file/tree/node.ts'
import {
  CACHE_HANDLE,
  CACHE_READ,
  CACHE_WRITE,
  deleteHolder,
  holdersOf,
  putHolder,
  putLock,
  putOpen,
  setDeletePending,
  SHARE_DELETE,
  SHARE_READ,
  SHARE_WRITE,
  type FileEvent,
  type FileOpen,
} from '../../src/storage/file/open/open.ts'
import { ACCOUNT } from '../harness.ts'
import type { RunningTestServer } from '../running-server.ts'

/** Bits of an access mask ([MS-SMB2] 2.2.13.1.1). */
export const ACCESS = { none: 0x80, read: 0x1, write: 0x2, delete: 0x1_0000 } as const

const ALL_SHARED = SHARE_READ | SHARE_WRITE | SHARE_DELETE

export const SHARE_MODES = {
  none: 0,
  R: SHARE_READ,
  W: SHARE_WRITE,
  D: SHARE_DELETE,
  RW: SHARE_READ | SHARE_WRITE,
  RD: SHARE_READ | SHARE_DELETE,
  WD: SHARE_WRITE | SHARE_DELETE,
  RWD: ALL_SHARED,
} as const

export const CACHES = {
  R: CACHE_READ,
  RH: CACHE_READ | CACHE_HANDLE,
  RW: CACHE_READ | CACHE_WRITE,
  RWH: CACHE_READ | CACHE_WRITE | CACHE_HANDLE,
} as const

export function cacheText(state: number): string {
  return Object.entries(CACHES).find(([, each]) => each === state)?.[0] ?? 'none'
}

export type Place = Pick<FileOpen, 'shareId' | 'nodeId' | 'parentId' | 'path' | 'isDirectory'>

/** Finds a file or directory as an SMB client would. */
export async function placeOf(
  server: RunningTestServer,
  share: string,
  path: string,
): Promise<Place> {
  const address = { account: ACCOUNT, share, path: parseFilePath(path, { allowTrailingDot: true }) }
  const { node, share: found } = requireNode(await server.file.kv.read((tx) => locate(tx, address)))
  const { nodeId, parentId } = node
  return { shareId: found.id, nodeId, parentId, path, isDirectory: node.kind === 'directory' }
}

/** Opens it, by default for reading and with full sharing. */
export async function openPlace(
  { file: { kv, newId } }: RunningTestServer,
  place: Place,
  how: Partial<FileOpen> = {},
): Promise<FileOpen> {
  const open: FileOpen = {
    ...place,
    openId: newId(),
    access: ACCESS.read,
    shareAccess: ALL_SHARED,
    sessionId: '513867793146318209',
    clientIp: '10.2.4.26:50352',
    openedMs: Date.UTC(2024, 3, 4, 11, 46, 24),
    ...how,
  }
  await kv.write(function* (tx) {
    putOpen(tx, open)
  })
  return open
}

export async function lockRange(
  { file: { kv } }: RunningTestServer,
  open: FileOpen,
  offset: number,
  length: number,
  isExclusive: boolean,
): Promise<void> {
  const lock = { openId: open.openId, offset: `${offset}`, length: `${length}`, isExclusive }
  await kv.write(function* (tx) {
    putLock(tx, open, offset, lock)
  })
}

export async function markForDeletion(
  { file: { kv } }: RunningTestServer,
  place: Place,
  isPending: boolean,
): Promise<void> {
  await kv.write(function* (tx) {
    setDeletePending(tx, place, isPending)
  })
}

/** Opens it with a lease of these rights. */
export async function cacheOpen(
  server: RunningTestServer,
  place: Place,
  state: number,
  how: Partial<FileOpen> = {},
): Promise<FileOpen> {
  const open = await openPlace(server, place, { holder: `holder-${place.nodeId}`, ...how })
  await server.file.kv.write(function* (tx) {
    putHolder(tx, place, { holder: open.holder ?? '', kind: 'lease', state })
  })
  return open
}

/** Acknowledges a break: from now on the client caches no more than this. */
export async function acknowledge(
  { file: { kv } }: RunningTestServer,
  { shareId, nodeId }: Pick<Place, 'shareId' | 'nodeId'>,
  holder: string,
  to: number,
): Promise<void> {
  await kv.write(function* (tx) {
    const found = (yield* holdersOf(tx, shareId, nodeId)).find((each) => each.holder === holder)
    assert(found !== undefined)
    const { breakingTo: _done, ...rest } = found
    if (to === 0) deleteHolder(tx, { shareId, nodeId }, holder)
    else putHolder(tx, { shareId, nodeId }, { ...rest, state: to })
    tx.announce({ kind: 'released', shareId, nodeId })
  })
}

export type BreakEvent = Extract<FileEvent, { kind: 'break' }>

/** Calls `answer` for each break; `breaks` has all of them. */
export function onBreak(
  { file: { kv } }: RunningTestServer,
  answer: (event: BreakEvent) => unknown = () => undefined,
): { readonly breaks: BreakEvent[]; stop(): void } {
  const breaks: BreakEvent[] = []
  const stop = kv.listen((event) => {
    if (event.kind !== 'break') return
    breaks.push(event)
    void answer(event)
  })
  return { breaks, stop }
}

const WAIT_MS_MAX = 30_000

/** Waits, turn by turn of the event loop; a busy machine may need many turns. */
export async function untilTrue(isTrue: () => boolean): Promise<void> {
  const lateMs = performance.now() + WAIT_MS_MAX
  while (!isTrue()) {
    assert(performance.now() < lateMs, 'the condition never became true')
    await new Promise((resolve) => setImmediate(resolve))
  }
}

export async function itemsOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

type SdkError = Error & {
  readonly statusCode?: number
  readonly code?: string
  readonly response?: { readonly headers: { get(name: string): string | undefined } }
}

/** `ok`, or the status and the error code. */
export async function outcomeOf(running: Promise<unknown>): Promise<string> {
  try {
    await running
    return 'ok'
  } catch (error) {
    assert(error instanceof Error)
    const { statusCode, code, response } = error as SdkError
    assert(statusCode !== undefined, String(error.stack))
    // The SDK reads the code from the body, which a response to HEAD does not have.
    const errorCode = code ?? response?.headers.get('x-ms-error-code')
    return `${statusCode} ${errorCode}`
  }
}
