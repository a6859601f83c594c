// Uploads a block blob: at once if it is short, otherwise block by block.
import { ask, isCode, type Area } from '../storage.ts'
import { Exists, sendPieces, sendWithProgress, startUpload, type Transfer } from '../upload.ts'

/** Also the most of a file that the browser reads at a time. */
const BLOCK_BYTES = 4 * 1024 * 1024

type Condition = { readonly 'If-None-Match': '*' } | { readonly 'If-Match': string }

/** What is there already is overwritten only if somebody says so, and only in the state that he was told of. */
export function uploadBlob(area: Area, container: string, blob: string, file: File): void {
  const path = [container, blob]
  const transfer =
    (condition: Condition): Transfer =>
    async (progress, signal) => {
      const type = file.type || 'application/octet-stream'
      const headers = { ...condition, 'x-ms-blob-content-type': type }
      if (file.size <= BLOCK_BYTES) {
        const whole = { ...headers, 'x-ms-blob-type': 'BlockBlob' }
        return sendWithProgress(area, { path, headers: whole, body: file }, progress, signal)
      }
      const count = await sendPieces(
        file,
        BLOCK_BYTES,
        ({ at, content }, sent) =>
          sendWithProgress(
            area,
            { path, query: { comp: 'block', blockid: idOf(at) }, body: content },
            sent,
            signal,
          ),
        progress,
      )
      const ids = Array.from({ length: count }, (_, at) => `<Latest>${idOf(at)}</Latest>`).join('')
      const body = `<?xml version="1.0" encoding="utf-8"?><BlockList>${ids}</BlockList>`
      return ask(area, { method: 'PUT', path, query: { comp: 'blocklist' }, headers, body, signal })
    }
  const overwrite = async (): Promise<Transfer> => {
    const answer = await ask(area, { method: 'HEAD', path })
    return transfer({ 'If-Match': answer.headers.get('etag') ?? '*' })
  }
  startUpload(`${area.account}/blob/${container}/${blob}`, file.size, async (progress, signal) => {
    // Asked first, so that a long file is not sent in vain.
    if (await isThere(area, path)) throw new Exists(await overwrite())
    try {
      await transfer({ 'If-None-Match': '*' })(progress, signal)
    } catch (error) {
      if (isCode(error, 'BlobAlreadyExists')) throw new Exists(await overwrite())
      throw error
    }
  })
}

async function isThere(area: Area, path: readonly string[]): Promise<boolean> {
  const [container = '', prefix = ''] = path
  // A HEAD of what is not there would be an error in the log of the browser.
  const query = { restype: 'container', comp: 'list', prefix, maxresults: 1 }
  const text = await (await ask(area, { path: [container], query })).text()
  const found = new DOMParser()
    .parseFromString(text, 'text/xml')
    .querySelector('Blobs > Blob > Name')
  return found?.textContent === prefix
}

/** All ids of a blob have the same length. */
function idOf(at: number): string {
  return btoa(String(at).padStart(6, '0'))
}
