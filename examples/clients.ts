// Clients of Azure's SDKs with names of their own: the server knows a client by its header x-lazuli-client. The names are
// in the journal, in the explanations of races, and in what barriers release.
import { TableClient } from '@azure/data-tables'
import * as blob from '@azure/storage-blob'
import * as lake from '@azure/storage-file-datalake'
import * as file from '@azure/storage-file-share'
import * as queue from '@azure/storage-queue'

type Server = { readonly connectionString: string }

export function blobsAs(name: string, { connectionString }: Server): blob.BlobServiceClient {
  const { url, credential } = blob.BlobServiceClient.fromConnectionString(connectionString)
  const pipeline = blob.newPipeline(credential)
  pipeline.factories.unshift(naming(name))
  return new blob.BlobServiceClient(url, pipeline)
}

/** Data Lake Storage. */
export function lakeAs(name: string, { connectionString }: Server): lake.DataLakeServiceClient {
  const { url, credential } = lake.DataLakeServiceClient.fromConnectionString(connectionString)
  const pipeline = lake.newPipeline(credential)
  pipeline.factories.unshift(naming(name))
  return new lake.DataLakeServiceClient(url, pipeline)
}

export function queuesAs(name: string, { connectionString }: Server): queue.QueueServiceClient {
  const { url, credential } = credentialOf(connectionString, 'QueueEndpoint')
  const pipeline = queue.newPipeline(credential)
  pipeline.factories.unshift(naming(name))
  return new queue.QueueServiceClient(url, pipeline)
}

export function sharesAs(name: string, { connectionString }: Server): file.ShareServiceClient {
  const { url, credential } = credentialOf(connectionString, 'FileEndpoint')
  const pipeline = file.newPipeline(credential)
  pipeline.factories.unshift(naming(name))
  return new file.ShareServiceClient(url, pipeline)
}

export function tableAs(name: string, { connectionString }: Server, table: string): TableClient {
  const client = TableClient.fromConnectionString(connectionString, table, {
    allowInsecureConnection: true, // Plain HTTP on this machine.
  })
  client.pipeline.addPolicy({
    name: 'client name',
    sendRequest(request, next) {
      request.headers.set('x-lazuli-client', name)
      return next(request)
    },
  })
  return client
}

function naming(name: string): blob.RequestPolicyFactory {
  return {
    create: (next) => ({
      sendRequest(request) {
        request.headers.set('x-lazuli-client', name)
        return next.sendRequest(request)
      },
    }),
  }
}

/** The SDKs for queues and files read a connection string, but do not say what they found. */
function credentialOf(connectionString: string, endpoint: string) {
  const part = (name: string): string => {
    const found = new RegExp(`(?:^|;)${name}=([^;]+)`).exec(connectionString)?.[1]
    if (found === undefined) throw new Error(`the connection string has no ${name}`)
    return found
  }
  const credential = new blob.StorageSharedKeyCredential(part('AccountName'), part('AccountKey'))
  return { url: part(endpoint), credential }
}
