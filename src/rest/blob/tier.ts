// Set Blob Tier. The only condition it accepts is the one on tags.
import { decodeConditions, optionalWord } from '../../http/protocol/header.ts'
import type { Answer, Request } from '../../http/door/operation.ts'
import { setBlobTier } from '../../storage/blob/change.ts'
import type { SetTier } from '../../storage/blob/tier.ts'
import { checkNoConditions, NO_CONDITIONS } from '../../storage/shared/condition.ts'
import { missingHeader } from '../../storage/shared/error.ts'
import { decodeTier, guardWith, withTags } from './header.ts'
import { blobAddressAt, type BlobCall } from './service.ts'

export async function runSetBlobTier({ request, service }: BlobCall): Promise<Answer> {
  const { headers } = request
  checkNoConditions(decodeConditions(headers))
  const conditions = withTags(NO_CONDITIONS, headers['x-ms-if-tags'], 'x-ms-if-tags')
  const [address, guard] = [blobAddressAt(request), guardWith(request, conditions)]
  const [tier, { nowMs }] = [decodeSetTier(request), service.moment()]
  const { isPending } = await service.kv.write((tx) => setBlobTier(tx, address, guard, tier, nowMs))
  return { status: isPending ? 202 : 200, headers: [] }
}

function decodeSetTier(request: Request): SetTier {
  const name = decodeTier(request)
  if (name === undefined) throw missingHeader('x-ms-access-tier')
  const priority = optionalWord(request.headers, 'x-ms-rehydrate-priority', ['Standard', 'High'])
  return { name, ...(priority !== undefined && { priority }) }
}
