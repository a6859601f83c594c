// Set Blob Tier. Of the conditions it takes that of tags only.
import { decodeConditions, optionalWord, requiredHeader } from '../../http/header.ts'
import type { Answer, Request } from '../../http/operation.ts'
import { setBlobTier } from '../../storage/blob/change.ts'
import { decodeAccessTier, type SetTier } from '../../storage/blob/tier.ts'
import { checkNoConditions, NO_CONDITIONS } from '../../storage/condition.ts'
import { guardWith, withTags } from './header.ts'
import { blobAddressAt, type BlobCall } from './service.ts'

export async function runSetBlobTier({ request, service }: BlobCall): Promise<Answer> {
  const { headers } = request
  checkNoConditions(decodeConditions(headers))
  const conditions = withTags(NO_CONDITIONS, headers['x-ms-if-tags'], 'x-ms-if-tags')
  const [address, guard] = [blobAddressAt(request), guardWith(request, conditions)]
  const [asked, { nowMs }] = [decodeSetTier(request), service.moment()]
  const { isPending } = await service.kv.write((tx) =>
    setBlobTier(tx, address, guard, asked, nowMs),
  )
  return { status: isPending ? 202 : 200, headers: [] }
}

function decodeSetTier({ headers }: Request): SetTier {
  const name = decodeAccessTier(requiredHeader(headers, 'x-ms-access-tier'))
  const priority = optionalWord(headers, 'x-ms-rehydrate-priority', ['Standard', 'High'])
  return { name, ...(priority !== undefined && { priority }) }
}
