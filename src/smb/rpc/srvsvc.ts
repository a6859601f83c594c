// The Server Service ([MS-SRVS]), with which clients list and inspect shares. It is read-only.
import { WIN32 } from './interface.ts'
import type { RpcInterface, RpcOperation, RpcShare, RpcWorld } from './interface.ts'
import { encodeStructures, encodeU32, encodeUniqueU32, readString, readU32 } from './ndr.ts'
import { readUniqueString, readUniqueU32, REFERENT } from './ndr.ts'
import type { NdrField, NdrReader } from './ndr.ts'
import { FAULT, RpcFault } from './rpc-fault.ts'
import { SHARE_ENUM_LEVELS, SHARE_LEVELS } from './share-structure.ts'

/** Whatever the client prefers: about 8,000 shares. It gets the rest with ResumeHandle. */
const ENUM_BYTES_MAX = 1024 * 1024

const IPC: RpcShare = { name: 'IPC$', comment: 'Remote IPC', type: 0x80000003 }

function allShares(world: RpcWorld): readonly RpcShare[] {
  const shares = world.shares()
  return shares.some(({ name }) => name.toUpperCase() === IPC.name) ? shares : [...shares, IPC]
}

/** `…_ENUM_STRUCT`: the level, the tag of the union, and a pointer to a container that must be empty. */
function readEnumLevel(args: NdrReader, levels: ReadonlySet<number>): number {
  const level = readU32(args)
  if (readU32(args) !== level || !levels.has(level)) throw new RpcFault(FAULT.invalidTag)
  if (readU32(args) !== 0) {
    readU32(args) // EntriesRead, an output.
    if (readU32(args) !== 0) throw new RpcFault(FAULT.badStub)
  }
  return level
}

const shareEnumLevels: ReadonlySet<number> = new Set(SHARE_ENUM_LEVELS.keys())

/** NetrShareEnum and NetrShareEnumSticky: all shares survive a restart. */
const netrShareEnum: RpcOperation = (args, world) => {
  readUniqueString(args)
  const level = readEnumLevel(args, shareEnumLevels)
  const preferredBytesMax = readU32(args)
  const resume = readUniqueU32(args)
  const shares = allShares(world).slice(resume ?? 0)
  const structure = SHARE_ENUM_LEVELS.get(level) ?? (() => [])
  const page = fitting(shares.map(structure), Math.min(preferredBytesMax, ENUM_BYTES_MAX))
  const isWhole = page.length === shares.length
  const next = isWhole ? 0 : (resume ?? 0) + page.length
  return Buffer.concat([
    encodeU32(level, level, REFERENT, page.length),
    page.length === 0 ? encodeU32(0) : encodeU32(REFERENT, page.length),
    encodeStructures(page),
    encodeU32(shares.length),
    encodeUniqueU32(resume === undefined ? undefined : next),
    encodeU32(isWhole ? WIN32.success : WIN32.moreData),
  ])
}

/** As many as fit, and at least one, so that every call makes progress. */
function fitting(
  structures: readonly (readonly NdrField[])[],
  lengthBytesMax: number,
): readonly (readonly NdrField[])[] {
  let lengthBytes = 0
  const end = structures.findIndex((structure, i) => {
    lengthBytes += encodeStructures([structure]).length
    return i > 0 && lengthBytes > lengthBytesMax
  })
  return end < 0 ? structures : structures.slice(0, end)
}

const netrShareGetInfo: RpcOperation = (args, world) => {
  readUniqueString(args)
  const name = readString(args).toUpperCase()
  const level = readU32(args)
  const structure = SHARE_LEVELS.get(level)
  if (structure === undefined) throw new RpcFault(FAULT.invalidTag)
  const share = allShares(world).find((one) => one.name.toUpperCase() === name)
  if (share === undefined) return encodeU32(level, 0, WIN32.shareNotFound)
  return encodeOne(level, structure(share))
}

/** A union of pointers, and the target of the selected one. */
export function encodeOne(level: number, structure: readonly NdrField[]): Uint8Array {
  return Buffer.concat([
    encodeU32(level, REFERENT),
    encodeStructures([structure]),
    encodeU32(WIN32.success),
  ])
}

/** [MS-SRVS] 2.2.2.7: a workstation and server of Windows NT, outside of a domain. */
const SERVER_TYPE = 0x00009003
export const PLATFORM_NT = 500
export const VERSION = [10, 0] as const

const netrServerGetInfo: RpcOperation = (args, { serverName }) => {
  readUniqueString(args)
  const level = readU32(args)
  const name = { text: serverName }
  const comment = { text: 'Lazuli' }
  const named = [PLATFORM_NT, name]
  const typed = [...named, ...VERSION, SERVER_TYPE, comment]
  // Unlimited users, no disconnect time, visible with its announce rates, no licenses, and the path of user directories.
  const full = [...typed, 0xffffffff, 0xffffffff, 0, 240, 3000, 0, { text: 'C:\\' }]
  const structures = new Map<number, readonly NdrField[]>([
    [100, named],
    [101, typed],
    [102, full],
  ])
  const structure = structures.get(level)
  if (structure === undefined) throw new RpcFault(FAULT.invalidTag)
  return encodeOne(level, structure)
}

/** The time is UTC, so TimeZone is 0 and clients add their own. */
const netrRemoteTod: RpcOperation = (args, world) => {
  readUniqueString(args)
  const nowMs = world.nowMs()
  const now = new Date(nowMs)
  const tickMs = 310 // In units of 0.1 ms; the same value as in Windows.
  return encodeU32(
    REFERENT,
    Math.floor(nowMs / 1000),
    nowMs % 2 ** 32,
    now.getUTCHours(),
    now.getUTCMinutes(),
    now.getUTCSeconds(),
    Math.floor(now.getUTCMilliseconds() / 10),
    0,
    tickMs,
    now.getUTCDate(),
    now.getUTCMonth() + 1,
    now.getUTCFullYear(),
    now.getUTCDay(),
    WIN32.success,
  )
}

/** NetrSessionEnum and the like: always empty. Only the account may list handles, over REST. */
function emptyEnum(stringCount: number, ...levels: readonly number[]): RpcOperation {
  const supported = new Set(levels)
  return (args) => {
    for (let i = 0; i < 1 + stringCount; i += 1) readUniqueString(args)
    const level = readEnumLevel(args, supported)
    readU32(args)
    const resume = readUniqueU32(args)
    return Buffer.concat([
      encodeU32(level, level, REFERENT, 0, 0, 0),
      encodeUniqueU32(resume === undefined ? undefined : 0),
      encodeU32(WIN32.success),
    ])
  }
}

export const SRVSVC: RpcInterface = {
  syntax: { uuid: 'c84f324b7016d30112785a47bf6ee188', version: 3 },
  operations: new Map([
    [8, emptyEnum(1, 0, 1)], // NetrConnectionEnum
    [9, emptyEnum(2, 2, 3)], // NetrFileEnum
    [12, emptyEnum(2, 0, 1, 2, 10, 502)], // NetrSessionEnum
    [15, netrShareEnum],
    [16, netrShareGetInfo],
    [21, netrServerGetInfo],
    [28, netrRemoteTod],
    [36, netrShareEnum], // NetrShareEnumSticky
  ]),
}
