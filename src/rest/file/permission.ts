// Create Permission and Get Permission: security descriptors by key, as SDDL or as base64 of their bytes. These are the
// only operations of the File service with JSON bodies.
import { decodeConditions, optionalWord, requiredHeader } from '../../http/protocol/header.ts'
import type { Answer } from '../../http/door/operation.ts'
import { isAtLeast } from '../../http/door/version.ts'
import { checkNoConditions } from '../../storage/shared/condition.ts'
import { StorageError } from '../../storage/shared/error.ts'
import { formatSddl } from '../../storage/file/security/sddl-format.ts'
import { parseSddl } from '../../storage/file/security/sddl.ts'
import {
  checkPermission,
  decodeSecurityDescriptor,
  encodeSecurityDescriptor,
} from '../../storage/file/security/security-descriptor.ts'
import { shareAddress, type FileCall } from './service.ts'
import { addPermission, readPermission } from '../../storage/file/share/share-permission.ts'

/** A descriptor has up to 64 KiB; its text is longer. */
export const PERMISSION_BYTES_MAX = 512 * 1024

const PERMISSION_FORMATS = ['Sddl', 'Binary'] as const
type PermissionFormat = (typeof PERMISSION_FORMATS)[number]

export async function runCreatePermission({ request, service }: FileCall): Promise<Answer> {
  checkNoConditions(decodeConditions(request.headers))
  const address = shareAddress(request)
  const descriptor = decodePermissionBody(await request.body.read(PERMISSION_BYTES_MAX))
  const key = await service.kv.write((tx) => addPermission(tx, address, descriptor))
  return { status: 201, headers: ['x-ms-file-permission-key', key] }
}

const FORMAT = 'x-ms-file-permission-format'

export async function runGetPermission({ request, service }: FileCall): Promise<Answer> {
  checkNoConditions(decodeConditions(request.headers))
  const address = shareAddress(request)
  const key = requiredHeader(request.headers, 'x-ms-file-permission-key')
  const format = optionalWord(request.headers, FORMAT, PERMISSION_FORMATS) ?? 'Sddl'
  const descriptor = await service.kv.read((tx) => readPermission(tx, address, key))
  const permission = formatPermission(descriptor, format)
  const hasFormat = isAtLeast(request.version, '2024-11-04')
  const body = JSON.stringify({ permission, ...(hasFormat && { format: format.toLowerCase() }) })
  // The service sends no Content-Type; the SDKs parse the body as JSON.
  return { status: 200, headers: [], body }
}

/** The descriptor's bytes, as the permission store keeps them. */
export function parsePermission(text: string, format: PermissionFormat): Uint8Array {
  if (format === 'Sddl') return encodeSecurityDescriptor(parseSddl(text))
  const bytes = Buffer.from(text, 'base64')
  if (bytes.toString('base64') !== text) throw new StorageError('FileInvalidPermission')
  const descriptor = decodeSecurityDescriptor(bytes)
  checkPermission(descriptor)
  return encodeSecurityDescriptor(descriptor)
}

function formatPermission(descriptorBytes: Uint8Array, format: PermissionFormat): string {
  if (format === 'Binary') return Buffer.from(descriptorBytes).toString('base64')
  return formatSddl(decodeSecurityDescriptor(descriptorBytes))
}

/** `{"permission": "…", "format": "Sddl"}`, ignoring the case of names and format. */
export function decodePermissionBody(body: Uint8Array): Uint8Array {
  const fields = new Map<string, unknown>()
  for (const [name, value] of Object.entries(parseJson(body))) fields.set(name.toLowerCase(), value)
  const permission = fields.get('permission')
  if (typeof permission !== 'string') throw new StorageError('FileInvalidPermission')
  const word = fields.get('format') ?? 'Sddl'
  const format = PERMISSION_FORMATS.find((each) => each.toLowerCase() === lowerCased(word))
  if (format === undefined) throw new StorageError('InvalidInput')
  return parsePermission(permission, format)
}

function lowerCased(value: unknown): string | undefined {
  return typeof value === 'string' ? value.toLowerCase() : undefined
}

function parseJson(body: Uint8Array): object {
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(body).toString('utf8'))
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  if (typeof value !== 'object' || value === null) throw new StorageError('InvalidInput')
  return value
}
