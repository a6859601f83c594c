// Test helpers: an in-memory share with an empty root directory, and functions to create and open nodes in it.
import type { Step } from '../../kv/kv.ts'
import { openMemoryKv } from '../../kv/memory-kv.ts'
import type { Moment } from '../../node/moment.ts'
import { createDirectory, createFile } from './tree/create.ts'
import { setNodeProperties, type Resize } from './tree/file-properties.ts'
import {
  locate,
  requireNode,
  ROOT_ID,
  saveNode,
  type Existing,
  type FileNode,
  type NodeKind,
} from './tree/node.ts'
import { putOpen, type FileEvent, type FileKv, type FileOpen, type FileTx } from './open/open.ts'
import { storePermission } from './security/permission.ts'
import { DEFAULT_ROOT_DESCRIPTOR } from './security/security-descriptor-inherit.ts'
import { encodeSecurityDescriptor } from './security/security-descriptor.ts'
import { saveShare, type Share } from './share/share.ts'
import type { ShareView } from './share/snapshot-view.ts'

export const EXAMPLE_SHARE: Share = {
  id: 1,
  stamp: 1,
  modifiedMs: 1,
  metadata: [],
  policies: [],
  quotaGib: 1,
  accessTier: 'Hot',
  enabledProtocol: 'SMB',
  lastSnapshot: 0,
  snapshotCount: 0,
}

export const EXAMPLE_ADDRESS = { account: 'a', share: 's' }
export const EXAMPLE_VIEW: ShareView = { shareId: EXAMPLE_SHARE.id, lastSnapshot: 0 }
export const EXAMPLE_MOMENT: Moment = { nowMs: 1_000, stamp: 1_024_000 }

/** A stored node with the earliest times. */
export function exampleNode(
  kind: NodeKind,
  nodeId: number,
  parentId: number,
): Omit<FileNode, 'since'> {
  return {
    kind,
    nodeId,
    parentId,
    stamp: 1,
    modifiedMs: 1,
    attributes: 0,
    creationTime: '0',
    lastWriteTime: '0',
    changeTime: '0',
    permissionKey: '1*1',
    metadata: [],
    lengthBytes: 0,
  }
}

export async function openExampleShare(): Promise<FileKv> {
  const kv = openMemoryKv<FileEvent>()
  await kv.write(function* (tx) {
    saveShare(tx, EXAMPLE_ADDRESS, EXAMPLE_SHARE)
    const bytes = encodeSecurityDescriptor(DEFAULT_ROOT_DESCRIPTOR)
    const permissionKey = yield* storePermission(tx, EXAMPLE_SHARE.id, bytes)
    saveNode(tx, EXAMPLE_VIEW, undefined, {
      ...exampleNode('directory', ROOT_ID, ROOT_ID),
      permissionKey,
    })
  })
  return kv
}

export function* requireExampleNode(tx: FileTx, path: string): Step<Existing> {
  return requireNode(yield* locate(tx, { ...EXAMPLE_ADDRESS, path: path.split('/') }))
}

export function* createExampleNode(
  tx: FileTx,
  path: string,
  kind: 'directory' | 'file',
  nodeId: number,
): Step<FileNode> {
  const at = yield* locate(tx, { ...EXAMPLE_ADDRESS, path: path.split('/') })
  const node = { nodeId, properties: {} }
  if (kind === 'directory') return yield* createDirectory(tx, at, node, EXAMPLE_MOMENT)
  return yield* createFile(tx, at, { ...node, lengthBytes: 0 }, EXAMPLE_MOMENT)
}

export function* resizeFile(
  tx: FileTx,
  existing: Existing,
  resize: Resize,
  moment: Moment,
): Step<FileNode> {
  return yield* setNodeProperties(tx, existing, { properties: {}, resize }, moment)
}

/** Stores an open with all access rights and all share modes. */
export async function openExampleNode(
  kv: FileKv,
  at: Pick<FileOpen, 'nodeId' | 'parentId' | 'path' | 'isDirectory'>,
): Promise<FileOpen> {
  const open: FileOpen = {
    ...at,
    openId: at.nodeId + 1_000,
    shareId: EXAMPLE_SHARE.id,
    access: 0x1f_01ff,
    shareAccess: 7,
    sessionId: '1',
    clientIp: '127.0.0.1:1',
    openedMs: 1,
  }
  await kv.write(function* (tx) {
    putOpen(tx, open)
  })
  return open
}
