// Opens the source of a copy for reading: a blob or file of this store, read from one snapshot, or the answer of
// another server. Either is read once, like the client's body.
import { optionalHeader } from '../../../http/protocol/header.ts'
import type { Request } from '../../../http/door/operation.ts'
import type { ByteRange } from '../../../extent/content/interval-map.ts'
import { invalidHeader, StorageError } from '../../../storage/shared/error.ts'
import type {
  FetchWants,
  LocalSource,
  OpenSource,
  RemoteSource,
  SourceWants,
} from './copy-sources.ts'
import { openRemote } from './remote-source.ts'
import { resolveSource, type SourceCall } from './source.ts'

/** How a service opens sources. */
type Openers<Opened extends OpenSource> = {
  local(source: LocalSource, wants: FetchedWants): Promise<Opened>
  remote(source: RemoteSource, wants: FetchedWants): Promise<Opened>
}

type FetchedWants = SourceWants & FetchWants

export function openSource(call: SourceCall, wants: SourceWants): Promise<OpenSource> {
  const { request, service } = call
  return openSourceWith<OpenSource>(call, wants, {
    local: (source, fetched) => service.copySources.openLocal(request, source, fetched),
    remote: (source, fetched) => openRemote(call, source, fetched),
  })
}

export async function openSourceWith<Opened extends OpenSource>(
  call: SourceCall,
  wants: SourceWants,
  open: Openers<Opened>,
): Promise<Opened> {
  const source = await resolveSource(call, wants)
  const fetched = { ...wants, isFetched: true }
  const opened = await (source.kind === 'local'
    ? open.local(source, fetched)
    : open.remote(source, fetched))
  if (opened.lengthBytes <= wants.bytesMax) return opened
  opened.close()
  throw tooLong(wants.bytesMax)
}

/** The service's wording (ansible-collections/azure#1580, azure-sdk-for-go#19880). */
export function tooLong(bytesMax: number): StorageError {
  const limit = 'is too large and exceeds the maximum permissible limit'
  const message = `The source request body for copy source ${limit} (${bytesMax / 2 ** 20}MB).`
  return new StorageError('CannotVerifyCopySource', {}, message, 409)
}

const RANGE = /^bytes=(\d{1,15})-(\d{0,15})$/i

/** x-ms-source-range: `bytes=a-b` or `bytes=a-`. */
export function decodeSourceRange({ headers }: Request): ByteRange | undefined {
  const text = optionalHeader(headers, 'x-ms-source-range')
  if (text === undefined) return undefined
  const [, first, last] = RANGE.exec(text.trim()) ?? []
  const from = Number(first)
  const to = last === '' ? Infinity : Number(last) + 1
  if (from < to) return { from, to }
  throw invalidHeader('x-ms-source-range', text)
}
