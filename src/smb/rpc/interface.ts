// An RPC interface as a pipe sees it: its identity, its operations by number, and the server state they may read.
import type { LsaAccount } from './lsa-name.ts'
import type { NdrReader } from './ndr.ts'
import type { Syntax } from './pdu.ts'

export type RpcShare = {
  readonly name: string
  readonly comment: string
  /** [MS-SRVS] 2.2.2.4: 0 for a disk, 3 for IPC; 0x80000000 marks a special one. */
  readonly type: number
}

export type RpcWorld = {
  readonly serverName: string
  readonly shares: () => readonly RpcShare[]
  readonly nowMs: () => number
  /** The caller's account and its current users. */
  readonly lsa: () => LsaAccount
}

/** Reads its arguments and returns the stub of the answer, which ends with the return value. */
export type RpcOperation = (args: NdrReader, world: RpcWorld) => Uint8Array

export type RpcInterface = {
  readonly syntax: Syntax
  readonly operations: ReadonlyMap<number, RpcOperation>
}

/** [MS-ERREF] 2.2: the return values that we use. */
export const WIN32 = {
  success: 0,
  moreData: 234,
  shareNotFound: 2310,
} as const
