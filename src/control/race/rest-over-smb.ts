// REST over SMB: a write over REST to a file that an SMB client has open for reading or writing, with a share mode that
// lets others write. The server refuses the write if the share mode does not.
import { changedNotes, type ClientAct } from './act.ts'
import { changesBytes } from './effect.ts'
import {
  clientsOf,
  quoted,
  resourceOfAct,
  timeOfDay,
  when,
  type Detector,
  type RaceContext,
} from './finding.ts'
import { keyName } from '../../kv/key.ts'
import { fileNodeKey } from '../../storage/file/keys.ts'
import { SHARE_WRITE, type FileOpen } from '../../storage/file/open/open.ts'

export function detectRestOverSmb({ report }: RaceContext): Detector {
  /** The request that opened it. */
  const openedBy = new Map<string, ClientAct>()
  const reported = new Set<string>()
  return (act) => {
    const { entry } = act
    for (const { kind, key, before, after } of entry.notes) {
      if (kind !== 'open') continue
      if (before === undefined && after !== undefined) openedBy.set(key, act)
      if (entry.service !== 'file' || before?.open === undefined) continue
      const pair = `${key} ${act.client}`
      if (reported.has(pair) || !usesBytes(before.open) || !writesUnder(act, before.open)) continue
      reported.add(pair)
      const opener = openedBy.get(key)
      report({
        kind: 'REST over SMB',
        resource: resourceOfAct(act),
        explanation: explain(act, before.open, opener),
        clients:
          opener === undefined ? [act.client, holderOf(before.open)] : clientsOf([act, opener]),
        acts: opener === undefined ? [act] : [opener, act],
      })
    }
  }
}

/** FILE_READ_DATA, FILE_WRITE_DATA and FILE_APPEND_DATA ([MS-SMB2] 2.2.13.1.1) */
const BYTES_ACCESS = 0x7

function usesBytes({ access, isDirectory }: FileOpen): boolean {
  return !isDirectory && (access & BYTES_ACCESS) !== 0
}

/** The file that is open is the one that the request wrote to: requests also meet opens of files next to it. */
function writesUnder({ entry }: ClientAct, { shareId, nodeId, shareAccess }: FileOpen): boolean {
  if ((shareAccess & SHARE_WRITE) === 0) return false
  const opened = keyName(fileNodeKey(shareId, nodeId))
  return changedNotes(entry).some(
    (note) =>
      note.before !== undefined &&
      note.key === opened &&
      changesBytes({ entry, note }, [{ first: 0, last: Infinity }]),
  )
}

function explain(act: ClientAct, open: FileOpen, opener: ClientAct | undefined): string {
  const holder = opener === undefined ? `"${holderOf(open)}"` : quoted(opener)
  const since = opener === undefined ? `since ${timeOfDay(open.openedMs)}` : when(opener)
  return (
    `${holder} has ${resourceOfAct(act)} open over SMB (${since}) and lets others write to it meanwhile. ` +
    `${quoted(act)} changed its bytes over REST (${when(act)}), so what the SMB client has read may be outdated, ` +
    'and what it writes may be mixed with it. Open the file with a share mode that denies others to write: ' +
    'a write over REST then gets 409 SharingViolation.'
  )
}

function holderOf({ clientName, clientIp }: FileOpen): string {
  return `SMB client ${clientName ?? clientIp}`
}
