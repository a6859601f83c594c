// The official clients of one server, each with a name that the server knows them by, and without retries.
import { AzureNamedKeyCredential, TableClient } from '@azure/data-tables'
import * as blob from '@azure/storage-blob'
import * as file from '@azure/storage-file-share'
import * as queue from '@azure/storage-queue'
import { ACCOUNT, ACCOUNT_KEY, type TestServer } from '../harness.ts'

type Endpoints = Pick<
  TestServer,
  'blobEndpoint' | 'queueEndpoint' | 'tableEndpoint' | 'fileEndpoint'
>

/** Connections are not reused: the server may close an idle one while a browser is slow. */
const ONCE = { retryOptions: { maxTries: 1 }, keepAliveOptions: { enable: false } }
const HEADER = 'x-lazuli-client'

export function namedBlobs(server: Endpoints, name: string): blob.BlobServiceClient {
  const credential = new blob.StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY)
  const pipeline = blob.newPipeline(credential, ONCE)
  pipeline.factories.unshift(naming(name))
  return new blob.BlobServiceClient(server.blobEndpoint, pipeline)
}

export function namedQueues(server: Endpoints, name: string): queue.QueueServiceClient {
  const credential = new queue.StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY)
  const pipeline = queue.newPipeline(credential, ONCE)
  pipeline.factories.unshift(naming(name))
  return new queue.QueueServiceClient(server.queueEndpoint, pipeline)
}

export function namedShares(server: Endpoints, name: string): file.ShareServiceClient {
  const credential = new file.StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY)
  const pipeline = file.newPipeline(credential, ONCE)
  pipeline.factories.unshift(naming(name))
  return new file.ShareServiceClient(server.fileEndpoint, pipeline)
}

export function namedTable(server: Endpoints, name: string, table: string): TableClient {
  const credential = new AzureNamedKeyCredential(ACCOUNT, ACCOUNT_KEY)
  const options = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } }
  const client = new TableClient(server.tableEndpoint, table, credential, options)
  client.pipeline.addPolicy({
    name: 'client name',
    sendRequest: (request, next) => {
      request.headers.set(HEADER, name)
      return next(request)
    },
  })
  return client
}

function naming(name: string): blob.RequestPolicyFactory {
  return {
    create: (next) => ({
      sendRequest: (request) => {
        request.headers.set(HEADER, name)
        return next.sendRequest(request)
      },
    }),
  }
}

/** `ok`, or the code of the error. */
export async function outcomeOf(sending: Promise<unknown>): Promise<string> {
  try {
    await sending
    return 'ok'
  } catch (error) {
    return codeOf(error)
  }
}

type ClientError = {
  readonly code?: string
  readonly details?: {
    readonly errorCode?: string
    readonly odataError?: { readonly code?: string }
  }
}

function codeOf(error: unknown): string {
  const { code, details } = error as ClientError
  return details?.errorCode ?? details?.odataError?.code ?? code ?? String(error)
}
