// Get File: the bytes of a file or of a part of it, read from one snapshot of the store.
import type { Hole, Piece } from '../../extent/content/slice.ts'
import { readShort } from '../../extent/content/small.ts'
import { optionalGuid } from '../../http/protocol/header.ts'
import type { Answer } from '../../http/door/operation.ts'
import type { ByteRange } from '../../extent/content/interval-map.ts'
import { decodeRange } from '../../http/protocol/range.ts'
import type { Attempted, ReadTx, Step } from '../../kv/kv.ts'
import { locate, requireNode, type FileNode } from '../../storage/file/tree/node.ts'
import { readRange } from '../../storage/file/bytes/range.ts'
import { checkOpens } from '../../storage/file/open/rest-access.ts'
import { checkLeaseForRead } from '../../storage/shared/lease.ts'
import { withOverrides } from '../shared/answer-header.ts'
import { contentAnswer, type ReadBody } from '../shared/content-answer.ts'
import { contentHeaders } from './answer.ts'
import { afterBreaks } from './breaks.ts'
import { refuseConditions } from './file-header.ts'
import { fileAddressAt, type FileCall } from './service.ts'

type ReadFile = {
  readonly node: FileNode
  readonly range: ByteRange | undefined
  readonly body: ReadBody
}

export async function runGetFile(call: FileCall): Promise<Answer> {
  const { request, service } = call
  refuseConditions(request)
  const { node, range, body } = await afterBreaks(service, request, () => readFile(call))
  const headers = contentHeaders(node, range, service.moment().nowMs)
  const { lengthBytes } = node
  return contentAnswer(request, withOverrides(headers, call.identity), { range, lengthBytes, body })
}

function readFile(call: FileCall): Promise<Attempted<ReadFile>> {
  const { nowMs } = call.service.moment()
  return call.service.kv.attemptRead((tx) => fileOf(tx, call, nowMs))
}

function* fileOf(tx: ReadTx, { request, service }: FileCall, nowMs: number): Step<ReadFile> {
  const address = fileAddressAt(request)
  const leaseId = optionalGuid(request.headers, 'x-ms-lease-id')
  const { share, node } = requireNode(yield* locate(tx, address), 'file')
  const range = decodeRange(request.headers, request.version, node.lengthBytes)
  const part = range ?? { from: 0, to: node.lengthBytes }
  if (address.snapshot === undefined) {
    yield* checkOpens(tx, share.id, node, 'Get File', part)
    checkLeaseForRead(node.lease, leaseId, nowMs, 'file')
  }
  const pieces = yield* readRange(tx, node, part)
  const bytes = yield* readShort(tx, pieces, part.to - part.from)
  const body = bytes === undefined ? streamed(service, pieces) : { body: bytes }
  return { node, range, body }
}

function streamed(
  { extents, recycle }: FileCall['service'],
  pieces: readonly (Piece | Hole)[],
): ReadBody {
  return { stream: () => extents.read(pieces), recycle }
}
