// Imports service properties, each element by itself: one that Lazuli refuses does not keep the others out.
import { readLokiFile } from './loki-file.ts'
import { decodeService } from './document.ts'
import { encodeSettings } from '../seed/service-settings.ts'
import type { AzuriteService } from './folder.ts'
import { send, unlessRefused, type Importing } from './world.ts'

/** Azurite's names of elements that are not just the same with a capital letter. */
const ELEMENTS: Readonly<Record<string, string>> = {
  deleteProperty: 'Delete',
  includeAPIs: 'IncludeAPIs',
}

const ORDER = [
  'logging',
  'hourMetrics',
  'minuteMetrics',
  'cors',
  'defaultServiceVersion',
  'deleteRetentionPolicy',
  'staticWebsite',
]

export async function importServices(
  into: Importing,
  service: AzuriteService,
  database: string,
): Promise<void> {
  for await (const { collection, document } of readLokiFile(database)) {
    if (collection !== '$SERVICES_COLLECTION$') continue
    const { account, settings } = decodeService(document)
    for (const name of Object.keys(settings).toSorted(byOrder)) {
      const value = settings[name]
      if (value === undefined || value === null) continue
      const element = { [elementOf(name)]: elementsOf(value) }
      const what = `${elementOf(name)} of the ${service} service of ${account}`
      const isSet = await unlessRefused(into, what, () =>
        send(into, {
          service,
          account,
          method: 'PUT',
          query: { restype: 'service', comp: 'properties' },
          body: encodeSettings(element, what),
        }),
      )
      if (isSet) into.report.count('service properties')
    }
  }
}

function byOrder(a: string, b: string): number {
  return ORDER.indexOf(a) - ORDER.indexOf(b)
}

function elementOf(name: string): string {
  return ELEMENTS[name] ?? name.charAt(0).toUpperCase() + name.slice(1)
}

function elementsOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(elementsOf)
  if (typeof value !== 'object' || value === null) return value
  const known = Object.entries(value).filter(([, inner]) => inner !== undefined && inner !== null)
  return Object.fromEntries(known.map(([name, inner]) => [elementOf(name), elementsOf(inner)]))
}
