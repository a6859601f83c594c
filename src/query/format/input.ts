// What the readers of delimited text and of JSON have in common: rows in batches, with their place in the
// blob, out of a stream of bytes that is held only as far as one record needs.
import { QueryError } from '../query-error.ts'
import type { Budget } from '../run/budget.ts'
import type { Evaluate } from '../language/evaluate.ts'
import type { Path } from '../language/expression.ts'
import type { Value } from '../language/value.ts'

export type RowPlace = { readonly position: number; readonly endPosition: number }

export type Batch<Row> = {
  readonly rows: readonly Row[]
  readonly scannedBytes: number
  /** What stopped the reading after these rows. */
  readonly failure: QueryError | undefined
}

/** A row of the answer. */
export type OutputRow = {
  readonly names: readonly string[]
  readonly values: readonly Value[]
  /** The same as JSON, where the blob has it so. */
  readonly json?: string
}

export interface Input<Row extends RowPlace> {
  read(source: AsyncIterable<Uint8Array>): AsyncGenerator<Batch<Row>>
  column(path: Path, budget: Budget): Evaluate<Row>
  /** What SELECT * makes of a row. */
  all(row: Row): OutputRow
  /** The columns of SELECT *, where the blob names them. */
  names(): readonly string[] | undefined
}

/** The records at the start of `bytes`, which lie at `offset` in the blob; `last` when no more follow. */
export type Split<Row> = (bytes: Buffer, offset: number, last: boolean) => SplitRows<Row>

export type SplitRows<Row> = {
  readonly rows: readonly Row[]
  readonly usedBytes: number
  readonly failure?: QueryError
}

const PIECE_BYTES = 64 * 1024
// Twice as large a record may pass, when it becomes whole at once.
const RECORD_BYTES_MAX = 2 * 1024 * 1024
const BYTE_ORDER_MARK = Buffer.from('\ufeff')

/**
 * A record that is not whole yet is split again with what follows it, and never before the bytes at hand
 * have doubled: so its bytes are looked at twice on average, however small the pieces of the source are.
 */
export async function* readBatches<Row>(
  source: AsyncIterable<Uint8Array>,
  split: Split<Row>,
): AsyncGenerator<Batch<Row>> {
  let [rest, offset, scannedBytes]: [Buffer, number, number] = [Buffer.alloc(0), 0, 0]
  const step = (bytes: Buffer, last: boolean): Batch<Row> => {
    const { rows, usedBytes, failure } = split(bytes, offset, last)
    offset += usedBytes
    rest = bytes.subarray(usedBytes)
    const tooLarge = failure === undefined && rest.length > RECORD_BYTES_MAX
    const problem = tooLarge ? new QueryError('RecordTooLarge', undefined, offset) : failure
    return { rows, scannedBytes, failure: problem }
  }
  for await (const piece of pieces(source, () => Math.max(PIECE_BYTES, rest.length))) {
    const marked = scannedBytes === 0 && piece.subarray(0, 3).equals(BYTE_ORDER_MARK)
    scannedBytes += piece.length
    if (marked) offset = BYTE_ORDER_MARK.length
    const fresh = marked ? piece.subarray(BYTE_ORDER_MARK.length) : piece
    const batch = step(rest.length === 0 ? fresh : Buffer.concat([rest, fresh]), false)
    yield batch
    if (batch.failure !== undefined) return
  }
  yield step(rest, true)
}

/** The source in pieces of about the wanted size: small ones are put together, large ones cut. */
async function* pieces(
  source: AsyncIterable<Uint8Array>,
  wantedBytes: () => number,
): AsyncGenerator<Buffer> {
  let parts: Uint8Array[] = []
  let lengthBytes = 0
  for await (const chunk of source) {
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
      const part = chunk.subarray(at, at + PIECE_BYTES)
      parts.push(part)
      lengthBytes += part.length
      if (lengthBytes < wantedBytes()) continue
      yield Buffer.concat(parts)
      parts = []
      lengthBytes = 0
    }
  }
  if (lengthBytes > 0) yield Buffer.concat(parts)
}

/** The path of a column without the table's name or alias before it. */
export function withoutAlias(path: Path, alias: string | undefined): Path {
  const [first, ...rest] = path
  if (first === undefined || !('name' in first) || rest.length === 0) return path
  const name = first.name.toLowerCase()
  return name === 'blobstorage' || name === alias?.toLowerCase() ? rest : path
}
