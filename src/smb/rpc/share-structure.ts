// The structures of a share in [MS-SRVS] 2.2.4, by level. For what a share of Azure Files does not have (a path on a
// disk, a password, a limit of users) they have the values of a file server without limits.
import type { NdrField } from './ndr.ts'
import type { RpcShare } from './interface.ts'

const MAX_USES_UNLIMITED = 0xffffffff

export type ShareStructure = (share: RpcShare) => readonly NdrField[]

const head = ({ name, type, comment }: RpcShare): readonly NdrField[] => [
  { text: name },
  type,
  { text: comment },
]

const use = (share: RpcShare): readonly NdrField[] => [
  ...head(share),
  0,
  MAX_USES_UNLIMITED,
  0,
  { text: pathOf(share) },
  { text: undefined },
]

// Windows leaves the path of IPC$ empty.
const pathOf = ({ name, type }: RpcShare) => ((type & 3) === 3 ? '' : `C:\\${name}`)

/** The security descriptor of the share itself: length 0 and a NULL pointer. */
const NO_DESCRIPTOR: readonly NdrField[] = [0, 0]

/** SHARE_ENUM_UNION ([MS-SRVS] 2.2.3.5). */
export const SHARE_ENUM_LEVELS: ReadonlyMap<number, ShareStructure> = new Map<
  number,
  ShareStructure
>([
  [0, ({ name }) => [{ text: name }]],
  [1, head],
  [2, use],
  [501, (share) => [...head(share), 0]],
  [502, (share) => [...use(share), ...NO_DESCRIPTOR]],
  [503, (share) => [...use(share), { text: '*' }, ...NO_DESCRIPTOR]],
])

/** SHARE_INFO ([MS-SRVS] 2.2.3.6): the same, and single properties. */
export const SHARE_LEVELS: ReadonlyMap<number, ShareStructure> = new Map<number, ShareStructure>([
  ...SHARE_ENUM_LEVELS,
  [1004, ({ comment }) => [{ text: comment }]],
  [1005, () => [0]],
  [1006, () => [MAX_USES_UNLIMITED]],
  [1501, () => NO_DESCRIPTOR],
])
