// Uploads a file: creates it with its length, then writes its ranges.
import { ask, type Area } from '../storage.ts'
import { Exists, sendPieces, sendWithProgress, startUpload, type Transfer } from '../upload.ts'
import { askXml, childOf, nameOf } from '../xml.ts'

/** The most that one Put Range takes. */
const RANGE_BYTES = 4 * 1024 * 1024

export function uploadFile(area: Area, share: string, directory: string, file: File): void {
  const name = directory + file.name
  const path = [share, name]
  const transfer: Transfer = async (progress, signal) => {
    const type = file.type || 'application/octet-stream'
    const headers = {
      'x-ms-type': 'file',
      'x-ms-content-length': String(file.size),
      'x-ms-content-type': type,
    }
    await ask(area, { method: 'PUT', path, headers, signal })
    await sendPieces(
      file,
      RANGE_BYTES,
      ({ offset, content }, sent) => {
        const range = {
          'x-ms-write': 'update',
          'x-ms-range': `bytes=${offset}-${offset + content.size - 1}`,
        }
        return sendWithProgress(
          area,
          { path, query: { comp: 'range' }, headers: range, body: content },
          sent,
          signal,
        )
      },
      progress,
    )
  }
  startUpload(`${area.account}/file/${share}/${name}`, file.size, async (progress, signal) => {
    if (await isThere(area, share, directory, file.name)) throw new Exists(transfer)
    return transfer(progress, signal)
  })
}

/** Create File replaces a file without a word. */
async function isThere(
  area: Area,
  share: string,
  directory: string,
  name: string,
): Promise<boolean> {
  const path = directory === '' ? [share] : [share, directory.slice(0, -1)]
  const query = { restype: 'directory', comp: 'list', prefix: name, maxresults: 1_000 }
  const list = await askXml(area, { path, query })
  const found = [...(childOf(list, 'Entries')?.children ?? [])]
  return found.some((each) => nameOf(each).toLowerCase() === name.toLowerCase())
}
