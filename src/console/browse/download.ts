// Saves a blob or file. The browser itself fetches it, so that it goes to the disk and not through the page's memory; only a
// server that wants a token gets the request from the page.
import { authorization } from '../page/api/call.ts'
import { ask, urlOf, type Area, type Ask } from './storage.ts'

export async function download(area: Area, request: Ask, name: string): Promise<void> {
  const file = name.slice(name.lastIndexOf('/') + 1)
  if (Object.keys(authorization()).length === 0) return save(urlOf(area, request), file)
  const url = URL.createObjectURL(await (await ask(area, request)).blob())
  save(url, file)
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}

function save(url: string, file: string): void {
  const link = document.createElement('a')
  link.href = url
  link.download = file
  link.click()
}
