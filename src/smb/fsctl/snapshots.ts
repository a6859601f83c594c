// FSCTL_SRV_ENUMERATE_SNAPSHOTS ([MS-SMB2] 3.3.5.15.1): the previous versions of a file are the snapshots of its
// share.
import { shareSnapshots } from '../../storage/file/share/share.ts'
import { STAMPS_PER_MS } from '../../node/moment.ts'
import { encodeSnapshots } from '../wire/file/fsctl.ts'
import { encodeSnapshotLabel } from '../wire/snapshot-label.ts'
import { requireFile, type FsctlCall, type FsctlReply } from './fsctl.ts'

/** The latest first. Labels have whole seconds, so the snapshots of one second are one version. */
export async function runEnumerateSnapshots(call: FsctlCall): Promise<FsctlReply> {
  const { shareId } = requireFile(call).open
  const snapshots = await call.world.kv.read((tx) => shareSnapshots(tx, shareId))
  const labels = snapshots.map(({ snapshot }) => encodeSnapshotLabel(snapshot / STAMPS_PER_MS))
  const latestFirst = [...new Set(labels)].sort().reverse()
  return { output: encodeSnapshots(latestFirst, call.outputMaxBytes) }
}
