// A server over HTTPS for tests of customer-provided keys, which clients may not send otherwise: the SDK and
// raw requests, both trusting the server's own CA.
import { createHash, randomBytes } from 'node:crypto'
import { request as httpsRequest } from 'node:https'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob'
import { ACCOUNT, ACCOUNT_KEY, wireRequest, type RawRequest, type RawResponse } from '../harness.ts'
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
  return new Promise((resolve, reject) => {
    const req = httpsRequest(options, (res) => {
      const chunks: Buffer[] = []
      res.on('data', (chunk: Buffer) => chunks.push(chunk))
      res.on('error', reject)
      res.on('end', () => {
        const body = Buffer.concat(chunks)
        const status = res.statusCode ?? 0
        resolve({ status, headers: res.headers, body, text: body.toString('utf8') })
      })
    })
    req.on('error', reject)
    req.end(request.body)
  })
}

/** A key as the SDK takes it. */
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

/** The same as headers. */
export function keyHeaders(key: SdkKey): Record<string, string> {
  return {
    'x-ms-encryption-key': key.encryptionKey,
    'x-ms-encryption-key-sha256': key.encryptionKeySha256,
    'x-ms-encryption-algorithm': key.encryptionAlgorithm,
  }
}

/** `200`, or `409 BlobUsesCustomerSpecifiedEncryption`. */
export function outcomeOf({ status, headers }: RawResponse): string {
  const code = headers['x-ms-error-code']
  return code === undefined ? String(status) : `${status} ${String(code)}`
}
