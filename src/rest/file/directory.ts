// Create and Delete Directory. The root is there with its share, and goes with it.
import { decodeMetadata } from '../../http/header.ts'
import type { Answer } from '../../http/operation.ts'
import type { Step } from '../../kv/kv.ts'
import { StorageError } from '../../storage/error.ts'
import { createDirectory, type NewNode } from '../../storage/file/create.ts'
import { locate, ROOT_ID, type FileAddress, type FileNode } from '../../storage/file/node.ts'
import type { FileTx } from '../../storage/file/open.ts'
import { deleteDirectory } from '../../storage/file/remove.ts'
import { checkFree, requireForWrite, type FileGuard } from '../../storage/file/rest-guard.ts'
import { createdModifiedMs } from '../../storage/file/smb-properties.ts'
import type { Moment } from '../../storage/moment.ts'
import { validators } from '../answer-header.ts'
import { smbHeaders, WRITTEN } from './answer.ts'
import { afterBreaks } from './breaks.ts'
import { fileGuard, refuseConditions } from './file-header.ts'
import { fileAddress, type FileCall } from './service.ts'
import { decodeSmbProperties } from './smb-header.ts'

export async function runCreateDirectory({ request, service }: FileCall): Promise<Answer> {
  refuseConditions(request)
  const address = fileAddress(request)
  const properties = decodeSmbProperties(request, 'create', 'directory')
  const directory = {
    nodeId: service.newId(),
    properties,
    metadata: decodeMetadata(request.rawHeaders),
    ...createdModifiedMs(properties),
  }
  const moment = service.moment()
  const node = await service.kv.write((tx) => addDirectory(tx, address, directory, moment))
  return { status: 201, headers: [...validators(node), ...WRITTEN, ...smbHeaders(node)] }
}

function* addDirectory(
  tx: FileTx,
  address: FileAddress,
  directory: NewNode,
  moment: Moment,
): Step<FileNode> {
  const located = yield* locate(tx, address)
  yield* checkFree(tx, located)
  return yield* createDirectory(tx, located, directory, moment)
}

export async function runDeleteDirectory({ request, service }: FileCall): Promise<Answer> {
  const [address, guard] = [fileAddress(request), fileGuard(request, 'Delete Directory')]
  const moment = service.moment()
  await afterBreaks(service, request, () =>
    service.kv.write((tx) => removeDirectory(tx, address, guard, moment)),
  )
  return { status: 202, headers: [] }
}

function* removeDirectory(
  tx: FileTx,
  address: FileAddress,
  guard: FileGuard,
  moment: Moment,
): Step<void> {
  const existing = yield* requireForWrite(tx, address, 'directory', guard, moment.nowMs)
  if (existing.node.nodeId === ROOT_ID) throw new StorageError('CannotDeleteFileOrDirectory')
  yield* deleteDirectory(tx, existing, moment)
}
