// A server over HTTPS for tests of customer-provided keys, which clients may send over HTTPS only. The SDK and raw
// requests both trust the server's own CA.
import { createHash, randomBytes } from 'node:crypto'
import { request as httpsRequest } from 'node:https'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob'
import {
  ACCOUNT,
  ACCOUNT_KEY,
  exchange,
  wireRequest,
  type RawRequest,
  type RawResponse,
} from '../harness.ts'
import {
  runTestServer,
  type RunningTestOptions,
  type RunningTestServer,
} from '../running-server.ts'

export type SecureServer = RunningTestServer & {
  readonly client: BlobServiceClient
  send(request: RawRequest): Promise<RawResponse>
}

export async function startSecureServer(options: RunningTestOptions = {}): Promise<SecureServer> {
  const server = await runTestServer({ https: 'auto', ...options })
  setDefaultCACertificates([...getCACertificates(), server.tls?.ca?.pem ?? ''])
  const url = `https://127.0.0.1:${server.blobPort}/${ACCOUNT}`
  const credential = new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY)
  return {
    ...server,
    client: new BlobServiceClient(url, credential, { retryOptions: { maxTries: 1 } }),
    send: (request) => send(server.blobPort, request),
  }
}

function send(port: number, request: RawRequest): Promise<RawResponse> {
  const { path, headers } = wireRequest(request)
  const options = { host: '127.0.0.1', port, method: request.method, path, headers, agent: false }
  return exchange(httpsRequest(options), request.body)
}

/** Outcomes of requests whose key or scope does not match that of the blob. */
export const USES = '409 BlobUsesCustomerSpecifiedEncryption'
export const USES_NOT = '409 BlobDoesNotUseCustomerSpecifiedEncryption'
export const MISMATCH = '409 BlobCustomerSpecifiedEncryptionMismatch'

/** A customer-provided key in the SDK's form. */
export type SdkKey = {
  readonly encryptionKey: string
  readonly encryptionKeySha256: string
  readonly encryptionAlgorithm: 'AES256'
}

export function newKey(): SdkKey {
  const key = randomBytes(32)
  return {
    encryptionKey: key.toString('base64'),
    encryptionKeySha256: createHash('sha256').update(key).digest('base64'),
    encryptionAlgorithm: 'AES256',
  }
}

/** The key as request headers. */
export function keyHeaders(key: SdkKey): Record<string, string> {
  return {
    'x-ms-encryption-key': key.encryptionKey,
    'x-ms-encryption-key-sha256': key.encryptionKeySha256,
    'x-ms-encryption-algorithm': key.encryptionAlgorithm,
  }
}
