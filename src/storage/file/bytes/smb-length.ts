// SMB clients set the length of a file ([MS-FSA] 2.1.5.15.3, 2.1.5.15.1).
import type { Step } from '../../../kv/kv.ts'
import { setNodeProperties, type Resize } from '../tree/file-properties.ts'
import type { FileOpen, FileTx } from '../open/open.ts'
import { requireOpened } from '../open/opened-node.ts'
import { breakForWrite } from '../cache/smb-cache.ts'
import { checkLocks } from '../open/smb-lock.ts'
import { frozenTimes, type FrozenTimes } from '../tree/set-basic.ts'
import type { Moment } from '../../../node/moment.ts'
import type { ShareAddress } from '../share/share.ts'

export type LengthKind = 'allocation' | 'endOfFile'

type LengthChange = {
  readonly kind: LengthKind
  readonly resize: Resize
  readonly frozen: FrozenTimes
}

export function* resizeOpened(
  tx: FileTx,
  address: Pick<ShareAddress, 'account' | 'share'>,
  open: FileOpen,
  { kind, resize, frozen }: LengthChange,
  moment: Moment,
): Step<void> {
  const opened = yield* requireOpened(tx, address, open)
  const { node } = opened
  const { lengthBytes } = resize
  yield* breakForWrite(tx, opened.open, opened.open.holder)
  if (kind === 'allocation' && lengthBytes >= node.lengthBytes) return
  if (lengthBytes < node.lengthBytes) {
    yield* checkLocks(tx, opened.open, { from: lengthBytes, to: node.lengthBytes }, 'write')
  }
  yield* setNodeProperties(tx, opened, { properties: frozenTimes(node, frozen), resize }, moment)
}
