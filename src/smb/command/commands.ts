// SMB2's commands as a table, by their numbers ([MS-SMB2] 2.2.1.2). A command that is not in it does not exist.
import type { SmbCommand } from '../call.ts'
import { COMMAND } from '../wire/header.ts'
import { runChangeNotify } from './change-notify.ts'
import { runClose } from './close.ts'
import { runCreate } from './create.ts'
import { runFlush } from './flush.ts'
import { runIoctl } from './ioctl.ts'
import { runLock } from './lock.ts'
import { runNegotiate } from './negotiate.ts'
import { runOplockBreak } from './oplock-break.ts'
import { runQueryDirectory } from './query-directory.ts'
import { runQueryInfo } from './query-info.ts'
import { runRead } from './read.ts'
import { runSessionSetup } from './session-setup.ts'
import { runSetInfo } from './set-info.ts'
import { runEcho, runLogoff } from './simple.ts'
import { runTreeConnect, runTreeDisconnect } from './tree-connect.ts'
import { runWrite } from './write.ts'

// prettier-ignore
const ROWS: readonly SmbCommand[] = [
  { name: 'NEGOTIATE', needs: 'none', run: runNegotiate },
  { name: 'SESSION_SETUP', needs: 'none', run: runSessionSetup },
  { name: 'LOGOFF', needs: 'session', run: runLogoff },
  { name: 'TREE_CONNECT', needs: 'session', run: runTreeConnect },
  { name: 'TREE_DISCONNECT', needs: 'tree', run: runTreeDisconnect },
  { name: 'CREATE', needs: 'tree', run: runCreate },
  { name: 'CLOSE', needs: 'tree', run: runClose },
  { name: 'FLUSH', needs: 'tree', run: runFlush },
  { name: 'READ', needs: 'tree', run: runRead },
  { name: 'WRITE', needs: 'tree', run: runWrite },
  { name: 'LOCK', needs: 'tree', run: runLock },
  { name: 'IOCTL', needs: 'tree', run: runIoctl },
  { name: 'ECHO', needs: 'none', run: runEcho },
  { name: 'QUERY_DIRECTORY', needs: 'tree', run: runQueryDirectory },
  { name: 'CHANGE_NOTIFY', needs: 'tree', run: runChangeNotify },
  { name: 'QUERY_INFO', needs: 'tree', run: runQueryInfo },
  { name: 'SET_INFO', needs: 'tree', run: runSetInfo },
  { name: 'OPLOCK_BREAK', needs: 'tree', run: runOplockBreak },
]

export const COMMANDS: Readonly<Record<number, SmbCommand | undefined>> = Object.fromEntries(
  ROWS.map((row) => [COMMAND[row.name], row]),
)
