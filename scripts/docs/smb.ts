// docs/smb.md: what the SMB server knows, read from the tables that answer the requests.
import { COMMANDS } from '../../src/smb/command/commands.ts'
import { FSCTLS } from '../../src/smb/command/ioctl.ts'
import { LAYOUTS } from '../../src/smb/wire/information/directory-entry.ts'
import { FILE_CLASSES } from '../../src/smb/wire/information/file-information.ts'
import { CLASSES as SET_CLASSES } from '../../src/smb/wire/information/set-info.ts'
import { VOLUME_CLASSES } from '../../src/smb/wire/information/volume-information.ts'

/** [MS-FSCC] 2.4 */
const FILE_NAMES: Readonly<Record<number, string>> = {
  1: 'Directory', 2: 'FullDirectory', 3: 'BothDirectory', 4: 'Basic', 5: 'Standard', 6: 'Internal', 7: 'Ea', 8: 'Access',
  10: 'Rename', 11: 'Link', 12: 'Names', 13: 'Disposition', 14: 'Position', 16: 'Mode', 17: 'Alignment', 18: 'All',
  19: 'Allocation', 20: 'EndOfFile', 21: 'AlternateName', 22: 'Stream', 28: 'Compression', 34: 'NetworkOpen',
  35: 'AttributeTag', 37: 'IdBothDirectory', 38: 'IdFullDirectory', 48: 'NormalizedName', 59: 'Id', 60: 'IdExtdDirectory',
  63: 'IdExtdBothDirectory', 64: 'DispositionEx', 65: 'RenameEx',
} // prettier-ignore

/** [MS-FSCC] 2.5 */
const VOLUME_NAMES: Readonly<Record<number, string>> = {
  1: 'Volume', 3: 'Size', 4: 'Device', 5: 'Attribute', 6: 'Control', 7: 'FullSize', 8: 'ObjectId', 11: 'SectorSize',
} // prettier-ignore

/** Of commands that do less than their specification allows. */
const LIMITS: Readonly<Record<string, string>> = {
  NEGOTIATE: 'dialects 2.0.2, 2.1, 3.0, 3.0.2 and 3.1.1; no SMB1, no compression, no RDMA',
  SESSION_SETUP: 'NTLMv2, raw or inside SPNEGO; no Kerberos, no guests, no NTLMv1',
  TREE_CONNECT: 'shares of the account, and IPC$',
  CREATE: 'no alternate streams, no extended attributes, no 8.3 names',
  IOCTL: 'the control codes below',
  QUERY_INFO: 'the classes below, security descriptors; no quotas of users',
  SET_INFO: 'the classes below, security descriptors; a share can not be changed',
  LOCK: 'at most 1,000 ranges in a request',
}

const INTRODUCTION = `# SMB commands

<!-- Written by \`npm run docs\` from the tables of commands and classes in src/smb/. -->

What the SMB server for [file shares](file-shares.md) answers. Everything else gets the error that [MS-SMB2] or [MS-FSCC] gives it: an unknown control code
INVALID_DEVICE_REQUEST, an unknown class INVALID_INFO_CLASS. Samba's own tests of SMB servers run against it
(\`npm run smbtorture\`; [which ones](../ARCHITECTURE.md#13-how-it-is-tested)).
`

export function smbPage(): string {
  const commands = Object.values(COMMANDS).flatMap((command) => command ?? [])
  return [
    INTRODUCTION,
    '| command | needs | limits |',
    '|---|---|---|',
    ...commands.map(({ name, needs }) => {
      const needed = needs === 'none' ? 'nothing' : `a ${needs}`
      return `| ${name} | ${needed} | ${LIMITS[name] ?? ''} |`
    }),
    '| CANCEL | a request that waits | |',
    '',
    '## Control codes (IOCTL)\n',
    '| code | |',
    '|---|---|',
    ...[...FSCTLS].map(([code, { name }]) => `| \`0x${hex(code)}\` | ${controlName(name)} |`),
    '',
    '## Classes\n',
    '| | |',
    '|---|---|',
    `| information on a file | ${names(FILE_CLASSES, FILE_NAMES)} |`,
    `| changes of a file | ${names(SET_CLASSES, FILE_NAMES)} (hard links are refused) |`,
    `| entries of a directory | ${names(LAYOUTS, FILE_NAMES)} |`,
    `| information on the share as a volume | ${names(VOLUME_CLASSES, VOLUME_NAMES)} |`,
    '',
  ].join('\n')
}

function names(
  classes: ReadonlyMap<number, unknown>,
  known: Readonly<Record<number, string>>,
): string {
  return [...classes.keys()]
    .map((number) => {
      const name = known[number]
      if (name === undefined) throw new Error(`class ${number} has no name`)
      return `${name} (${number})`
    })
    .join(', ')
}

function hex(code: number): string {
  return code.toString(16).padStart(8, '0')
}

/** `srvCopyChunk` → `SRV_COPY_CHUNK` */
function controlName(name: string): string {
  return name.replaceAll(/[A-Z]/g, '_$&').toUpperCase()
}
