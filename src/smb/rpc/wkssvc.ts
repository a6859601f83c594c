// The Workstation Service ([MS-WKST]), which gives clients the name of the machine.
import type { RpcInterface, RpcOperation } from './interface.ts'
import { readU32, readUniqueString } from './ndr.ts'
import type { NdrField } from './ndr.ts'
import { FAULT, RpcFault } from './rpc-fault.ts'
import { encodeOne, PLATFORM_NT, VERSION } from './srvsvc.ts'

const netrWkstaGetInfo: RpcOperation = (args, { serverName }) => {
  readUniqueString(args)
  const level = readU32(args)
  const basic = [PLATFORM_NT, { text: serverName }, { text: 'WORKGROUP' }, ...VERSION]
  const root = [...basic, { text: '' }]
  const structures = new Map<number, readonly NdrField[]>([
    [100, basic],
    [101, root],
    [102, [...root, 0]],
  ])
  const structure = structures.get(level)
  if (structure === undefined) throw new RpcFault(FAULT.invalidTag)
  return encodeOne(level, structure)
}

export const WKSSVC: RpcInterface = {
  syntax: { uuid: '98d0ff6b12a11036983346c3f87e345a', version: 1 },
  operations: new Map([[0, netrWkstaGetInfo]]),
}
