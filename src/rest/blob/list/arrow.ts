// Encodes an Apache Arrow IPC stream: a schema and one batch of columns. Only this file uses the library, which is
// loaded by the first list that needs it.

/** `seconds`: a time in milliseconds, encoded in whole seconds, the precision of HTTP dates. */
export type ArrowType = 'text' | 'boolean' | 'uint64' | 'seconds' | 'map'

export type ArrowValue =
  string | boolean | number | bigint | readonly (readonly [string, string])[] | undefined

type ArrowColumn = {
  readonly name: string
  readonly type: ArrowType
  /** One per row; undefined is encoded as null. */
  readonly values: readonly ArrowValue[]
}

/** `metadata` becomes part of the schema, which readers get before the rows. */
export async function encodeArrowStream(
  columns: readonly ArrowColumn[],
  metadata: ReadonlyMap<string, string>,
): Promise<Uint8Array> {
  const arrow = await import('@uwdata/flechette')
  const types = {
    text: arrow.utf8(),
    boolean: arrow.bool(),
    uint64: arrow.uint64(),
    seconds: arrow.timestamp(arrow.TimeUnit.SECOND, 'UTC'),
    map: arrow.map(arrow.utf8(), arrow.utf8()),
  }
  const built = columns.map(({ name, type, values }) => {
    const given = type === 'seconds' ? values.map(wholeSeconds) : [...values]
    return { name, column: arrow.columnFromArray(given, types[type]) }
  })
  const table = arrow.tableFromColumns(built.map(({ name, column }) => [name, column]))
  table.schema.metadata = new Map(metadata)
  const bytes = arrow.tableToIPC(table, { format: 'stream' })
  if (bytes === null) throw new Error('Arrow returned no bytes although no sink was given')
  return bytes
}

/** The library divides by 1,000 and accepts no fractions. */
function wholeSeconds(timeMs: ArrowValue): ArrowValue {
  return typeof timeMs === 'number' ? Math.floor(timeMs / 1_000) * 1_000 : undefined
}
