// ChannelSequence ([MS-SMB2] 3.3.5.2.10): a client increments it when it loses a channel. A request that was sent before
// and arrives later must not change the file any more, so that nothing runs twice when the client sends it again.
import type { ChannelState, Session, FileHandle } from '../world.ts'
import { DIALECT } from '../session/dialect.ts'
import { SmbError } from '../smb-error.ts'
import { channelSequence, COMMAND, HEADER_FLAG, type Smb2Header } from '../wire/header.ts'

const CHANGES: ReadonlySet<number> = new Set([COMMAND.WRITE, COMMAND.SET_INFO, COMMAND.IOCTL])

export function newChannelState(header: Pick<Smb2Header, 'status'>): ChannelState {
  return { sequence: channelSequence(header), current: 0, earlier: 0 }
}

/** Call it before a request uses the handle, and the returned function when the request is done. */
export function beginOnChannel(
  session: Pick<Session, 'dialect'>,
  header: Pick<Smb2Header, 'command' | 'flags' | 'status'>,
  handle: Pick<FileHandle, 'channels'>,
): () => void {
  const state = handle.channels
  if (state === undefined || session.dialect < DIALECT.smb300) return () => {}
  const sequence = channelSequence(header)
  const ahead = ((sequence - state.sequence + 0x8000) & 0xffff) - 0x8000
  const isReplay = (header.flags & HEADER_FLAG.replay) !== 0
  if (ahead < 0 || (isReplay && state.earlier > 0)) {
    if (CHANGES.has(header.command)) throw new SmbError('FILE_NOT_AVAILABLE')
    return () => {}
  }
  if (ahead > 0) {
    state.earlier += state.current
    state.current = 0
    state.sequence = sequence
  }
  state.current += 1
  return () => {
    if (state.sequence === sequence) state.current -= 1
    else state.earlier -= 1
  }
}
