// Watches the commands that touch files, for the journal, barriers and faults (control/). There is no point `answered`: the
// responses of a compound are sent together.
import { clientName } from '../../control/client.ts'
import { ConnectionReset } from '../../control/point.ts'
import { RequestWatch } from '../../control/watch.ts'
import type { SmbCall, SmbCommand, SmbReply } from '../call.ts'
import { smbErrorOf } from '../smb-error.ts'
import { decodeCreateRequest } from '../wire/file/create.ts'
import { NT_STATUS, type NtStatusName } from '../wire/status.ts'
import type { DiskTree, Session } from '../world.ts'

export async function runWatched(command: SmbCommand, call: SmbCall): Promise<SmbReply> {
  const { session, tree } = call
  const { watching } = call.world.control
  const isWatched = watching.isAlwaysOn || watching.points.isArmed
  if (!isWatched || session === undefined || tree?.kind !== 'disk') return command.run(call)
  const path = pathOf(command, call, tree)
  const watch = watchOf(command, call, { session, tree, path })
  const startedMs = performance.now()
  let status: NtStatusName | undefined
  try {
    if (watch.isArmed) {
      await watch.reach('received')
      await watch.reach('authorized')
    }
    const pace = watch.harm?.pace
    await pace?.take(call.message.length)
    const reply = await command.run({ ...call, world: watch.over(call.world) })
    status = reply.status ?? 'SUCCESS'
    for (const { length } of reply.body) await pace?.take(length)
    if (watch.harm?.isAnswerLost === true) throw new ConnectionReset()
    return reply
  } catch (error) {
    status ??= statusOf(error)
    throw watch.harm?.isAnswerLost === true ? new ConnectionReset() : error
  } finally {
    status ??= 'INTERNAL_ERROR'
    const notes = watch.takeNotes()
    call.world.control.journal?.record({
      ...senderOf(call, session),
      startedMs: watch.startedMs,
      durationMs: performance.now() - startedMs,
      service: 'smb',
      operation: command.name,
      writes: notes.some(({ isWritten }) => isWritten),
      account: tree.account,
      path,
      identity: session.identity === undefined ? 'account' : 'user',
      requestId: `${session.id.toString(16)}-${call.header.messageId}`,
      status,
      errorCode: NT_STATUS[status] >= NT_STATUS.UNSUCCESSFUL ? status : undefined,
      notes,
    })
    watch.end()
  }
}

function statusOf(error: unknown): NtStatusName {
  if (error instanceof ConnectionReset) return 'CONNECTION_DISCONNECTED'
  return smbErrorOf(error)?.status ?? 'INTERNAL_ERROR'
}

type Place = {
  readonly session: Session
  readonly tree: DiskTree
  readonly path: readonly string[]
}

function watchOf(
  { name: operation }: SmbCommand,
  call: SmbCall,
  { session, tree, path }: Place,
): RequestWatch {
  const { points, clientBy, clock } = call.world.control.watching
  return new RequestWatch(points, clock(), () => ({
    service: 'smb',
    operation,
    account: tree.account,
    path: `/${path.join('/')}`,
    client: clientName({ ...senderOf(call, session), headers: {} }, clientBy),
    clientRequestId: undefined,
    // The client learns that it has to wait, and may cancel.
    whenGone: (listener) => call.goAsync(listener),
  }))
}

/** A session is one client, whatever connections it uses. */
function senderOf({ connection }: SmbCall, { id }: Session) {
  return { headText: '', address: connection.clientIp, connection: Number(id & 0xffff_ffffn) }
}

/** The share, and the names below it. */
function pathOf(command: SmbCommand, call: SmbCall, { share }: DiskTree): readonly string[] {
  const below = command.name === 'CREATE' ? namedPath(call) : openedPath(command, call)
  return [share, ...below.split(/[/\\]/).filter((name) => name !== '')]
}

function namedPath({ message }: SmbCall): string {
  try {
    return decodeCreateRequest(message).name
  } catch {
    // The command reports it.
    return ''
  }
}

/** Where the FileId is behind the header ([MS-SMB2] 2.2.15 to 2.2.39). */
const FILE_ID_AT: Readonly<Partial<Record<SmbCommand['name'], number>>> = {
  CLOSE: 8,
  FLUSH: 8,
  READ: 16,
  WRITE: 16,
  LOCK: 8,
  IOCTL: 8,
  QUERY_DIRECTORY: 8,
  CHANGE_NOTIFY: 8,
  QUERY_INFO: 24,
  SET_INFO: 16,
}

const HEADER_BYTES = 64
const ALL_ONES = 0xffff_ffff_ffff_ffffn

function openedPath({ name }: SmbCommand, { message, chain, world }: SmbCall): string {
  const at = HEADER_BYTES + (FILE_ID_AT[name] ?? Infinity) + 8
  if (at + 8 > message.length) return ''
  const named = message.readBigUInt64LE(at)
  const volatile = named === ALL_ONES && chain.isRelated ? chain.fileId?.volatile : named
  const handle = volatile === undefined ? undefined : world.handles.get(volatile)
  return handle?.kind === 'file' ? handle.open.path : ''
}
