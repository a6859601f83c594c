// Create and Delete Directory. The root is created and deleted with its share.
import { decodeMetadata } from '../../http/protocol/header.ts'
import type { Answer } from '../../http/door/operation.ts'
import { createdModifiedMs } from '../../storage/file/tree/smb-properties.ts'
import { validators } from '../shared/answer-header.ts'
import { smbHeaders, WRITTEN } from './answer.ts'
import { afterBreaks } from './breaks.ts'
import { fileGuard, refuseConditions } from './file-header.ts'
import { fileAddress, type FileCall } from './service.ts'
import { decodeSmbProperties } from './smb-header.ts'
import { addDirectory, removeDirectory } from '../../storage/file/tree/rest-change.ts'

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

export async function runDeleteDirectory({ request, service }: FileCall): Promise<Answer> {
  const [address, guard] = [fileAddress(request), fileGuard(request, 'Delete Directory')]
  const moment = service.moment()
  await afterBreaks(service, request, () =>
    service.kv.attempt((tx) => removeDirectory(tx, address, guard, moment)),
  )
  return { status: 202, headers: [] }
}
