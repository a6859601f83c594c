// The addresses of filesystems and paths in a request to Data Lake Storage, and on whose behalf it is made.
import type { Level, Request } from '../../http/door/operation.ts'
import { decodeConditions } from '../../http/protocol/header.ts'
import type { PathAddress } from '../../storage/datalake/path-address.ts'
import { checkBlobName, checkContainerName } from '../../storage/shared/name.ts'
import { invalidQuery, outOfRangeQuery, StorageError } from '../../storage/shared/error.ts'
import { guardWith, type RequestGuard } from '../blob/header.ts'
import { actorOf } from '../blob/path-access.ts'
import type { BlobCall, BlobService } from '../blob/service.ts'

export type LakeService = BlobService
export type LakeCall = BlobCall

/** The root directory has the path of its filesystem. */
export function lakeLevel({ path: [filesystem, name] }: Request): Level {
  if (filesystem === undefined) return 'service'
  return name === undefined ? 'container' : 'object'
}

/** Flat accounts have no access control. */
export function requireHierarchical(call: LakeCall): void {
  if (!isHierarchical(call)) throw new StorageError('HierarchicalNamespaceNotEnabled')
}

export function isHierarchical({ service, request }: LakeCall): boolean {
  return service.accounts.get(request.account)?.isHierarchical === true
}

/** A file or directory, and on whose behalf it is used. The root directory has no name. */
export function pathAddress({ request, identity }: LakeCall): PathAddress {
  const [container = '', path = ''] = request.path
  checkContainerName(container)
  if (path !== '') checkBlobName(path)
  return { account: request.account, container, path, actor: actorOf(identity) }
}

/** Conditions, lease id and encryption. */
export function lakeGuard(request: Request, use: 'read' | 'write' = 'write'): RequestGuard {
  return guardWith(request, decodeConditions(request.headers), use)
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
  return { status: 200, headers: [...headers, ...JSON_TYPE], body: jsonText(body) }
}

/** As the service writes it. */
export function jsonText(body: unknown): string {
  return `${JSON.stringify(body)}\n`
}

export const JSON_TYPE = ['Content-Type', 'application/json;charset=utf-8'] as const
