// Clients with names: the server knows a client by its header x-lazuli-client.
import { BlobServiceClient, newPipeline, type BlockBlobClient } from '@azure/storage-blob'

export function counterOf(connectionString: string, name: string): BlockBlobClient {
  const { url, credential } = BlobServiceClient.fromConnectionString(connectionString)
  const pipeline = newPipeline(credential)
  pipeline.factories.unshift({
    create: (next) => ({
      sendRequest(request) {
        request.headers.set('x-lazuli-client', name)
        return next.sendRequest(request)
      },
    }),
  })
  const service = new BlobServiceClient(url, pipeline)
  return service.getContainerClient('counters').getBlockBlobClient('visits')
}
