// What an RPC interface is to a pipe: its identity, and its operations by number. And what the
// operations may know of the world.
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
  /** The account that asks, and its users as they are now. */
  readonly lsa: () => LsaAccount
}

/** Reads its arguments, and returns the stub of the answer, with the return value at its end. */
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
