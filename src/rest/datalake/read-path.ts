// Read: the content of a file. A directory has none.
import type { Answer } from '../../http/door/operation.ts'
import { withOverrides } from '../shared/answer-header.ts'
import { contentAnswer } from '../shared/content-answer.ts'
import { touch } from '../blob/blob.ts'
import { actorOf } from '../blob/path-access.ts'
import { bodyOf, readBytes } from '../blob/read.ts'
import { pathHeaders } from './path-answer.ts'
import type { LakeCall } from './service.ts'

export async function runReadPath(given: LakeCall): Promise<Answer> {
  const actor = actorOf(given.identity)
  const access = { actor, need: 'read' } as const
  const isFree = actor.kind === 'superuser'
  const call = isFree ? given : { ...given, request: { ...given.request, access } }
  const { request, service, identity } = call
  const read = await readBytes(call)
  const { range, blob } = read
  const headers = withOverrides(pathHeaders(blob, range, service.moment().nowMs), identity)
  if (read.isAccessNew) await touch(call)
  const { lengthBytes } = blob
  return contentAnswer(request, headers, { range, lengthBytes, body: bodyOf(service, read) })
}
