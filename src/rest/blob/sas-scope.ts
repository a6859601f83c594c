// A SAS may set the encryption scope of the blobs written with it (`ses`). Operations see it as the header of the
// request. Reads are not restricted ("Create a service SAS", specify the encryption scope).
import { optionalHeader } from '../../http/protocol/header.ts'
import type { Operation } from '../../http/door/operation.ts'
import { invalidHeader } from '../../storage/shared/error.ts'
import type { BlobCall, BlobService } from './service.ts'

const SCOPE = 'x-ms-encryption-scope'

export function withSasScope(operation: Operation<BlobService>): Operation<BlobService> {
  if (!operation.writes || operation.level !== 'object') return operation
  return { ...operation, run: (call) => operation.run(scopedCall(call)) }
}

function scopedCall(call: BlobCall): BlobCall {
  const { request, identity } = call
  const scope = 'encryptionScope' in identity ? identity.encryptionScope : undefined
  if (scope === undefined) return call
  const own = optionalHeader(request.headers, SCOPE)
  // "Shared access signature error codes": header and SAS must not differ.
  if (own !== undefined && own !== scope) throw invalidHeader(SCOPE, own)
  return { ...call, request: { ...request, headers: { ...request.headers, [SCOPE]: scope } } }
}
