// Every REST operation on a file, as the SDK sends it, for tests that apply to all of them.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { text } from 'node:stream/consumers'
import {
  FileSASPermissions,
  type ShareClient,
  type ShareFileClient,
} from '@azure/storage-file-share'
import { rawRequest } from '../harness.ts'
import type { RunningTestServer } from '../running-server.ts'
import { startFileFixture } from './fixture.ts'

export const LENGTH_BYTES = 2_048

export type FileWorld = {
  readonly server: RunningTestServer
  readonly share: ShareClient
  /** A file to copy from, and its URL with a SAS. */
  readonly source: ShareFileClient
  readonly sourceUrl: string
  newName(): string
}

/** A server without SMB: the test itself writes what SMB clients have open. */
export async function fileWorld(name: string): Promise<FileWorld> {
  return newWorld(await startFileFixture({ share: name, hasSmb: false }))
}

export async function newWorld({
  server,
  share,
}: Pick<FileWorld, 'server' | 'share'>): Promise<FileWorld> {
  const source = share.rootDirectoryClient.getFileClient('source')
  await source.create(LENGTH_BYTES)
  await source.uploadRange('x'.repeat(512), 0, 512)
  const permissions = FileSASPermissions.parse('r')
  const expiresOn = new Date(server.now() + 3_600_000)
  const sourceUrl = await source.generateSasUrl({ permissions, expiresOn })
  let count = 0
  return { server, share, source, sourceUrl, newName: () => `file-${(count += 1)}` }
}

export async function newFile({ share, newName }: FileWorld): Promise<ShareFileClient> {
  const file = share.rootDirectoryClient.getFileClient(newName())
  await file.create(LENGTH_BYTES)
  return file
}

type Run = (file: ShareFileClient, world: FileWorld, leaseId?: string) => Promise<unknown>

const withLease = (leaseId?: string) =>
  leaseId === undefined ? {} : { leaseAccessConditions: { leaseId } }

/** Sends an operation that the SDK does not have; it fails like the SDK. */
async function sendRaw(
  { server }: FileWorld,
  file: ShareFileClient,
  method: string,
  query: string,
  leaseId?: string,
): Promise<void> {
  const path = `/${file.shareName}/${file.path}?${query}`
  const headers = leaseId === undefined ? {} : { 'x-ms-lease-id': leaseId }
  const response = await rawRequest({ blobPort: server.filePort }, { method, path, headers })
  if (response.status < 300) return
  const [statusCode, code] = [response.status, response.headers['x-ms-error-code']]
  throw Object.assign(new Error(response.text), { statusCode, code })
}

export const OPERATIONS = {
  'Get File Properties': (file, _world, leaseId) => file.getProperties(withLease(leaseId)),
  'Get File Metadata': (file, world, leaseId) =>
    sendRaw(world, file, 'GET', 'comp=metadata', leaseId),
  'Get File': async (file, _world, leaseId) => {
    const { readableStreamBody } = await file.download(0, undefined, withLease(leaseId))
    assert(readableStreamBody !== undefined)
    await text(readableStreamBody)
  },
  'List Ranges': (file, _world, leaseId) => file.getRangeList(withLease(leaseId)),
  'Put Range': (file, _world, leaseId) => file.uploadRange('x', 0, 1, withLease(leaseId)),
  'Clear Range': (file, _world, leaseId) => file.clearRange(0, 512, withLease(leaseId)),
  'Put Range from URL': (file, { sourceUrl }, leaseId) =>
    file.uploadRangeFromURL(sourceUrl, 0, 0, 512, withLease(leaseId)),
  'Set File Properties': (file, _world, leaseId) => file.setHttpHeaders({}, withLease(leaseId)),
  Resize: (file, _world, leaseId) => file.resize(4_096, withLease(leaseId)),
  'Set File Metadata': (file, _world, leaseId) => file.setMetadata({}, withLease(leaseId)),
  'Create File': (file, _world, leaseId) => file.create(LENGTH_BYTES, withLease(leaseId)),
  'Copy File': (file, { sourceUrl }, leaseId) =>
    file.startCopyFromURL(sourceUrl, withLease(leaseId)),
  'Delete File': (file, _world, leaseId) => file.delete(withLease(leaseId)),
  'Rename File': (file, { newName }, leaseId) =>
    file.rename(newName(), {
      ...(leaseId !== undefined && { sourceLeaseAccessConditions: { leaseId } }),
    }),
  'Rename over File': async (file, world, leaseId) => {
    const other = await newFile(world)
    await other.rename(file.path, {
      replaceIfExists: true,
      ...(leaseId !== undefined && { destinationLeaseAccessConditions: { leaseId } }),
    })
  },
  'Acquire Lease': (file) => file.getShareLeaseClient().acquireLease(),
  'Change Lease': (file) => file.getShareLeaseClient(randomUUID()).changeLease(randomUUID()),
  'Release Lease': (file) => file.getShareLeaseClient(randomUUID()).releaseLease(),
  'Break Lease': (file) => file.getShareLeaseClient().breakLease(),
} as const satisfies Record<string, Run>

export type OperationName = keyof typeof OPERATIONS

export const NAMES = Object.keys(OPERATIONS) as OperationName[]

export function run(
  name: OperationName,
  file: ShareFileClient,
  world: FileWorld,
  leaseId?: string,
): Promise<unknown> {
  const operation: Run = OPERATIONS[name]
  return operation(file, world, leaseId)
}

/** The outcome of an operation on a file that is neither leased nor in use. */
export function outcomeUnhindered(name: OperationName): string {
  if (name === 'Change Lease' || name === 'Break Lease') {
    return '409 LeaseNotPresentWithLeaseOperation'
  }
  return name === 'Release Lease' ? '409 LeaseIdMismatchWithLeaseOperation' : 'ok'
}

export const READS = ['Get File', 'List Ranges'] as const
export const WRITES = [
  'Put Range',
  'Clear Range',
  'Put Range from URL',
  'Set File Properties',
  'Resize',
  'Set File Metadata',
] as const
export const REPLACES = ['Create File', 'Copy File'] as const
export const DELETES = ['Delete File', 'Rename over File'] as const

const LEASE = 'Acquire Lease'
const RENAME = 'Rename File'

/** The operations that an open with each share mode prevents: the table in "Manage file locks in Azure Files". */
export const REFUSED = {
  none: [...REPLACES, ...READS, ...WRITES, ...DELETES, LEASE, RENAME],
  R: [...REPLACES, ...WRITES, ...DELETES, LEASE, RENAME],
  W: [...REPLACES, ...READS, ...DELETES, LEASE, RENAME],
  D: [...REPLACES, ...READS, ...WRITES, ...DELETES, LEASE],
  RW: [...REPLACES, ...DELETES, LEASE, RENAME],
  RD: [...REPLACES, ...WRITES, ...DELETES, LEASE],
  WD: [...READS, ...DELETES, LEASE],
  RWD: [...DELETES],
} as const satisfies Readonly<Record<string, readonly OperationName[]>>

export function isRefused(mode: keyof typeof REFUSED, name: OperationName): boolean {
  return REFUSED[mode].some((each) => each === name)
}
