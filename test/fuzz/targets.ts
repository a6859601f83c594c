// All decoders that bytes from outside reach, in groups: the counters of V8 are slow to read if much code is loaded.
// Load a group only after the coverage has started.
import type { Target } from './target.ts'

export const GROUPS: Readonly<Record<string, () => Promise<readonly Target[]>>> = {
  http: async () => (await import('./target/http.ts')).HTTP_TARGETS,
  xml: async () => (await import('./target/xml.ts')).XML_TARGETS,
  table: async () => (await import('./target/table.ts')).TABLE_TARGETS,
  auth: async () => (await import('./target/auth.ts')).AUTH_TARGETS,
  smb: async () => (await import('./target/smb.ts')).SMB_TARGETS,
  query: async () => (await import('./target/query.ts')).QUERY_TARGETS,
  lake: async () => (await import('./target/lake.ts')).LAKE_TARGETS,
  import: async () => (await import('./target/import.ts')).IMPORT_TARGETS,
  other: async () => (await import('./target/other.ts')).OTHER_TARGETS,
}

export async function loadGroup(group: string): Promise<readonly Target[]> {
  const load = GROUPS[group]
  if (load === undefined) throw new Error(`there is no group ${group}`)
  return load()
}
