// Get and Set Blob Properties and Metadata, for every type of blob. Also decodes the length and sequence number of page
// blobs.
import {
  decodeMetadata,
  metadataHeaders,
  optionalHeader,
  optionalInt,
  optionalWord,
} from '../../http/protocol/header.ts'
import type { Answer, Request } from '../../http/door/operation.ts'
import type { Blob } from '../../storage/blob/record.ts'
import {
  setBlobMetadata,
  setBlobProperties,
  type PageProperties,
  type SequenceNumberChange,
  readBlobProperties,
} from '../../storage/blob/change.ts'
import { PAGE_BYTES } from '../../storage/blob/content/page-range.ts'
import { NO_CONTENT_TYPE } from '../../storage/shared/content-headers.ts'
import { invalidHeader, missingHeader } from '../../storage/shared/error.ts'
import { validators, withOverrides } from '../shared/answer-header.ts'
import { blobHeaders, writtenHeaders } from './answer.ts'
import { blobGuard, decodeHttpHeaders } from './header.ts'
import { blobAddress, blobAddressAt, type BlobCall } from './service.ts'

export async function runGetBlobProperties(call: BlobCall): Promise<Answer> {
  const blob = await read(call)
  const part = { from: 0, to: blob.lengthBytes }
  const isById = blobAddressAt(call.request).at !== undefined
  const { nowMs } = call.service.moment()
  const headers = blobHeaders(blob, { part, isRanged: false, isById }, nowMs)
  return { status: 200, headers: withOverrides(headers, call.identity) }
}

export async function runGetBlobMetadata(call: BlobCall): Promise<Answer> {
  const blob = await read(call)
  return { status: 200, headers: [...validators(blob), ...metadataHeaders(blob.metadata)] }
}

function read({ request, service }: BlobCall): Promise<Blob> {
  const [address, guard] = [blobAddressAt(request), blobGuard(request, 'read')]
  const { nowMs } = service.moment()
  return service.kv.read((tx) => readBlobProperties(tx, address, guard, nowMs))
}

export async function runSetBlobMetadata({ request, service }: BlobCall): Promise<Answer> {
  const metadata = decodeMetadata(request.rawHeaders)
  const [address, guard, moment] = [blobAddress(request), blobGuard(request), service.moment()]
  const newId = service.newId()
  const blob = await service.kv.write((tx) =>
    setBlobMetadata(tx, address, guard, metadata, newId, moment),
  )
  return { status: 200, headers: writtenHeaders(blob) }
}

/** One request may set the headers, the length and the sequence number. */
export async function runSetBlobProperties({ request, service }: BlobCall): Promise<Answer> {
  const page = decodePageProperties(request)
  const sent = decodeHttpHeaders(request, 'own')
  const isPageOnly = Object.keys(page).length > 0 && Object.keys(sent).length === 0
  // A missing header clears its property, also the content type: only a new blob gets the default one.
  const headers = { contentType: NO_CONTENT_TYPE, ...sent }
  const set = { headers: isPageOnly ? undefined : headers, page, newId: service.newId() }
  const [address, guard, moment] = [blobAddress(request), blobGuard(request), service.moment()]
  const blob = await service.kv.write((tx) => setBlobProperties(tx, address, guard, set, moment))
  const answerHeaders = validators(blob)
  if (blob.type === 'PageBlob') {
    answerHeaders.push('x-ms-blob-sequence-number', blob.sequenceNumber ?? '0')
  }
  return { status: 200, headers: answerHeaders }
}

const PAGE_BLOB_BYTES_MAX = 8 * 2 ** 40

/** The length of a page blob: whole pages, at most 8 TiB. */
export function decodePageBlobLength({ headers }: Request): number | undefined {
  const name = 'x-ms-blob-content-length'
  const lengthBytes = optionalInt(headers, name, { min: 0, max: PAGE_BLOB_BYTES_MAX })
  if (lengthBytes === undefined || lengthBytes % PAGE_BYTES === 0) return lengthBytes
  throw invalidHeader(name, String(lengthBytes))
}

function decodePageProperties(request: Request): PageProperties {
  const lengthBytes = decodePageBlobLength(request)
  const sequenceNumber = decodeSequenceNumberChange(request)
  return {
    ...(lengthBytes === undefined ? undefined : { lengthBytes }),
    ...(sequenceNumber === undefined ? undefined : { sequenceNumber }),
  }
}

const SEQUENCE_NUMBER = 'x-ms-blob-sequence-number'
const ACTION = 'x-ms-sequence-number-action'

function decodeSequenceNumberChange(request: Request): SequenceNumberChange | undefined {
  const action = optionalWord(request.headers, ACTION, ['max', 'update', 'increment'])
  const value = decodeSequenceNumber(request)
  if (action === undefined) {
    if (value !== undefined) throw missingHeader(ACTION)
    return undefined
  }
  if (action === 'increment') {
    if (value !== undefined) throw invalidHeader(SEQUENCE_NUMBER, String(value))
    return { action }
  }
  if (value === undefined) throw missingHeader(SEQUENCE_NUMBER)
  return { action, value }
}

/** 0 to 2^63-1. */
export function decodeSequenceNumber({ headers }: Request): bigint | undefined {
  const text = optionalHeader(headers, SEQUENCE_NUMBER)
  if (text === undefined) return undefined
  const value = /^\d{1,19}$/.test(text) ? BigInt(text) : -1n
  if (value < 0n || value >= 2n ** 63n) throw invalidHeader(SEQUENCE_NUMBER, text)
  return value
}
