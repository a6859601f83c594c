// Break notifications ([MS-SMB2] 3.3.4.6, 3.3.4.7): when a rule breaks a cache, the client that holds it is notified. A
// client without a connection loses its durable handles instead; one that does not acknowledge in time loses the cache.
import { isAcknowledged } from '../../storage/file/cache/cache-break.ts'
import { CACHE_READ } from '../../storage/file/open/open.ts'
import type { Connection, Session, SmbWorld, FileHandle, Handle } from '../world.ts'
import { closeHandle } from './close.ts'
import { leaseKeyOf } from '../create/create-cache.ts'
import { isPersistent } from './durable.ts'
import { OPLOCK_LEVEL } from '../wire/file/create.ts'
import { COMMAND } from '../wire/header.ts'
import { encodeLeaseBreakNotification, encodeOplockBreak } from '../wire/file/oplock-break.ts'
import {
  type BreakEvent,
  opensAndHolders,
  forceUnacknowledged,
} from '../../storage/file/cache/break-event.ts'

/** [MS-SMB2] 3.3.2.1 */
const ACKNOWLEDGE_MS_MAX = 35_000

/** Returns a function that stops it. */
export function startBreaks(world: SmbWorld): () => void {
  const timers = new Map<string, () => void>()
  const stop = world.kv.listen((event) => {
    if (event.kind !== 'break') return
    timers.get(event.holder)?.()
    timers.delete(event.holder)
    if (isAcknowledged(event.from)) {
      const cancel = world.after(ACKNOWLEDGE_MS_MAX, () => {
        timers.delete(event.holder)
        return force(world, event).catch((error: unknown) => world.logFault(error))
      })
      timers.set(event.holder, cancel)
    }
    notifyHolder(world, event).catch((error: unknown) => world.logFault(error))
  })
  return () => {
    stop()
    for (const cancel of timers.values()) cancel()
  }
}

async function notifyHolder(world: SmbWorld, event: BreakEvent): Promise<void> {
  const { holder } = event
  const { opens, holders } = await world.kv.read((tx) => opensAndHolders(tx, event))
  const handles = opens
    .filter((open) => open.holder === holder)
    .map(({ openId }) => world.handles.get(BigInt(openId)))
    .filter((handle) => isFileHandle(handle))
  // A lease of version 1 has no epoch.
  const isV2 = holders.some((each) => each.holder === holder && each.version === 2)
  for (const handle of handles) {
    const channel = channelOf(world, handle, event)
    if (channel === undefined) continue
    return notify(channel, handle, { ...event, epoch: isV2 ? event.epoch & 0xffff : 0 })
  }
  if (!isAcknowledged(event.from)) return
  // The client is not connected. When it reconnects, its handles are gone, except persistent ones.
  for (const handle of handles) if (!isPersistent(handle)) await closeHandle(world, handle)
  if (handles.length === 0) await force(world, event)
}

function isFileHandle(handle: Handle | undefined): handle is FileHandle {
  return handle?.kind === 'file'
}

type Channel = { readonly session: Session; readonly connection: Connection }

/** An oplock break goes to the session of the open, a lease break to the client's oldest connection. */
function channelOf(
  { connections }: SmbWorld,
  { session }: FileHandle,
  { holder }: BreakEvent,
): Channel | undefined {
  if (session === undefined) return undefined
  const ofSession = [...session.channels.keys()].find(({ isClosed }) => !isClosed)
  if (ofSession === undefined) return undefined
  const { clientGuid } = session
  for (const connection of isLease(holder) ? connections : []) {
    const isTheirs = connection.negotiated?.clientGuid.equals(clientGuid) === true
    const [other] = connection.sessions.values()
    if (isTheirs && !connection.isClosed && other !== undefined) {
      return { session: other, connection }
    }
  }
  return { session, connection: ofSession }
}

function isLease(holder: string): boolean {
  return holder.startsWith('lease:')
}

function notify({ session, connection }: Channel, handle: FileHandle, event: BreakEvent): void {
  const { tree } = handle
  const isSealed =
    session.isEncryptionRequired || (tree?.kind === 'disk' && tree.isEncryptionRequired)
  connection.notify(isSealed ? session : undefined, COMMAND.OPLOCK_BREAK, encode(handle, event))
}

function encode(handle: FileHandle, { holder, from, to, epoch }: BreakEvent): Buffer {
  if (!isLease(holder)) {
    const level = (to & CACHE_READ) !== 0 ? OPLOCK_LEVEL.ii : OPLOCK_LEVEL.none
    return encodeOplockBreak(level, handle.fileId)
  }
  return encodeLeaseBreakNotification({
    newEpoch: epoch,
    ackRequired: isAcknowledged(from),
    leaseKey: leaseKeyOf(holder),
    currentState: from,
    newState: to,
  })
}

async function force(world: SmbWorld, event: BreakEvent): Promise<void> {
  await world.kv.write((tx) => forceUnacknowledged(tx, event))
}
