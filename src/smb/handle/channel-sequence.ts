// ChannelSequence ([MS-SMB2] 3.3.5.2.10): a client that loses a channel counts it up. What was sent before and
// arrives after must not change the file any more, and is not done twice when it is sent again.
import type { ChannelState, Session, FileHandle } from '../world.ts'
import { DIALECT } from '../session/dialect.ts'
import { SmbError } from '../smb-error.ts'
import { COMMAND, HEADER_FLAG, type Smb2Header } from '../wire/header.ts'

const CHANGES: ReadonlySet<number> = new Set([COMMAND.WRITE, COMMAND.SET_INFO, COMMAND.IOCTL])

export function newChannelState({ status }: Pick<Smb2Header, 'status'>): ChannelState {
  return { sequence: status & 0xffff, current: 0, earlier: 0 }
}

/** To be called before a request works on the handle; the answer is to be called when it is done. */
export function beginOnChannel(
  session: Pick<Session, 'dialect'>,
  header: Pick<Smb2Header, 'command' | 'flags' | 'status'>,
  handle: Pick<FileHandle, 'channels'>,
): () => void {
  const state = handle.channels
  if (state === undefined || session.dialect < DIALECT.smb300) return () => {}
  const sequence = header.status & 0xffff
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
