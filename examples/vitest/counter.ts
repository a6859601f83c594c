// The program under test: a counter in a blob, to which any number of clients may add.
import type { BlockBlobClient } from '@azure/storage-blob'
import { text } from 'node:stream/consumers'

/** Optimistic: whoever finds that the counter has changed since it was read begins again. */
export async function increment(blob: BlockBlobClient): Promise<void> {
  for (;;) {
    const { etag, count } = await read(blob)
    try {
      await write(blob, count + 1, etag)
      return
    } catch (error) {
      if (!isConflict(error)) throw error
    }
  }
}

/** Wrong: what another client adds between the read and the write is lost. */
export async function incrementWithoutCondition(blob: BlockBlobClient): Promise<void> {
  const { count } = await read(blob)
  await write(blob, count + 1)
}

export async function read(blob: BlockBlobClient): Promise<{ etag: string; count: number }> {
  const { etag = '', readableStreamBody } = await blob.download()
  if (readableStreamBody === undefined) throw new Error('only a browser gets no stream')
  return { etag, count: Number(await text(readableStreamBody)) }
}

async function write(blob: BlockBlobClient, count: number, ifMatch?: string): Promise<void> {
  const content = String(count)
  const options = ifMatch === undefined ? {} : { conditions: { ifMatch } }
  await blob.upload(content, content.length, options)
}

function isConflict(error: unknown): boolean {
  return (
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    error.code === 'ConditionNotMet'
  )
}
