// The addresses of filesystems and paths in a request to Data Lake Storage, and on whose behalf it is made.
import type { Level, Request } from '../../http/door/operation.ts'
import { checkBlobName, checkContainerName } from '../../storage/shared/name.ts'
import { invalidQuery, outOfRangeQuery, StorageError } from '../../storage/shared/error.ts'
import type { BlobCall, BlobService } from '../blob/service.ts'

export type LakeService = BlobService
export type LakeCall = BlobCall

/** The root directory has the path of its filesystem. */
export function lakeLevel({ path: [filesystem, name] }: Request): Level {
  if (filesystem === undefined) return 'service'
  return name === undefined ? 'container' : 'object'
}

export function isHierarchical({ service, request }: LakeCall): boolean {
  return service.accounts.get(request.account)?.isHierarchical === true
}

/** A file or directory. The root directory has no name. */
export function pathOf(request: Request): { account: string; container: string; blob: string } {
  const [container = '', blob = ''] = request.path
  checkContainerName(container)
  if (blob !== '') checkBlobName(blob)
  return { account: request.account, container, blob }
}

export function optionalBooleanQuery({ query }: Request, name: string): boolean | undefined {
  const text = query.get(name.toLowerCase())
  if (text === undefined || text === '') return undefined
  const lower = text.toLowerCase()
  if (lower !== 'true' && lower !== 'false') throw invalidQuery(name, text)
  return lower === 'true'
}

export function requiredQuery({ query }: Request, name: string): string {
  const text = query.get(name.toLowerCase())
  if (text !== undefined && text !== '') return text
  throw new StorageError('MissingRequiredQueryParameter', { QueryParameterName: name })
}

/** One of the words, in any case. */
export function wordQuery<Word extends string>(
  { query }: Request,
  name: string,
  words: readonly Word[],
): Word | undefined {
  const text = query.get(name.toLowerCase())
  if (text === undefined || text === '') return undefined
  const word = words.find((each) => each.toLowerCase() === text.toLowerCase())
  if (word === undefined) throw invalidQuery(name, text)
  return word
}

/** More than the limit is the limit. */
export function countQuery({ query }: Request, name: string, countMax: number): number {
  const text = query.get(name.toLowerCase())
  if (text === undefined || text === '') return countMax
  if (!/^-?\d{1,15}$/.test(text)) throw invalidQuery(name, text)
  if (Number(text) <= 0) throw outOfRangeQuery(name, text, { min: 1, max: countMax })
  return Math.min(Number(text), countMax)
}

export function jsonAnswer(body: unknown, headers: readonly string[] = []) {
  const type = ['Content-Type', 'application/json;charset=utf-8']
  return { status: 200, headers: [...headers, ...type], body: JSON.stringify(body) }
}
