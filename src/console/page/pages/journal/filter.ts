// Which entries the journal page shows.
import type { JournalEntry } from '../../../../control/api.ts'

export type JournalView = {
  readonly text: string
  readonly client: string
  readonly operation: string
  readonly service: string
  /** The resource, or a folder above it. */
  readonly resource: string
  readonly conflicts: boolean
  /** What the console asks for its own pages. */
  readonly consoleReads: boolean
}

export function isShown(entry: JournalEntry, view: JournalView): boolean {
  if (view.conflicts && !entry.isConflict) return false
  if (!view.consoleReads && view.client !== CONSOLE && isReadOfConsole(entry)) return false
  if (view.client !== '' && entry.client.name !== view.client) return false
  if (view.operation !== '' && entry.operation !== view.operation) return false
  if (view.service !== '' && entry.service !== view.service) return false
  if (view.resource !== '' && !isWithin(entry.resource, view.resource)) return false
  return view.text === '' || textOf(entry).includes(view.text.toLowerCase())
}

/** The name with which the console's own requests are in the journal. */
const CONSOLE = 'console'
const READS = /^(Get|List|Peek|Query|Find|Preflight|Head)/

export function isRead(operation: string): boolean {
  return operation !== 'Get Messages' && READS.test(operation)
}

export function isReadOfConsole({ client, operation }: JournalEntry): boolean {
  return client.name === CONSOLE && isRead(operation)
}

export function isWithin(resource: string, folder: string): boolean {
  return resource === folder || resource.startsWith(folder.endsWith('/') ? folder : `${folder}/`)
}

function textOf(entry: JournalEntry): string {
  const { client, operation, resource, status, errorCode, etagBefore, etagAfter, requestId } = entry
  return [client.name, operation, resource, status, errorCode, etagBefore, etagAfter, requestId]
    .join(' ')
    .toLowerCase()
}
