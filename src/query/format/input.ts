// Shared by the readers of delimited text and JSON: reads batches of rows, with their positions in the blob, from a
// stream of bytes. Only an incomplete record is buffered.
import { QueryError } from '../query-error.ts'
import type { Budget } from '../run/budget.ts'
import type { Evaluate } from '../language/evaluate.ts'
import type { Path } from '../language/expression.ts'
import type { SqlValue } from '../language/value.ts'

export type RowPlace = { readonly position: number; readonly endPosition: number }

export type Batch<Row> = {
  readonly rows: readonly Row[]
  readonly scannedBytes: number
  /** The error that stopped reading after these rows. */
  readonly failure: QueryError | undefined
}

/** A row of the result. */
export type OutputRow = {
  readonly names: readonly string[]
  readonly values: readonly SqlValue[]
  /** The row as JSON, if it was JSON in the blob. */
  readonly json?: string
}

export interface Input<Row extends RowPlace> {
  read(source: AsyncIterable<Uint8Array>): AsyncGenerator<Batch<Row>>
  column(path: Path, budget: Budget): Evaluate<Row>
  /** The result of SELECT * for a row. */
  all(row: Row): OutputRow
  /** The columns of SELECT *, if the blob names them. */
  names(): readonly string[] | undefined
}

/** Splits `bytes`, which start at `offset` in the blob, into records. `last`: no more bytes follow. */
export type Split<Row> = (bytes: Buffer, offset: number, last: boolean) => SplitRows<Row>

export type SplitRows<Row> = {
  readonly rows: readonly Row[]
  readonly usedBytes: number
  readonly failure?: QueryError
}

const PIECE_BYTES = 64 * 1024
// A record of up to twice this size may pass, if its second half arrives at once.
const RECORD_BYTES_MAX = 2 * 1024 * 1024
const BYTE_ORDER_MARK = Buffer.from('\ufeff')

/**
 * An incomplete record is retried only after the buffer has doubled, so its bytes are scanned twice on average,
 * however small the pieces of the source are.
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

/** The source in pieces of about the wanted size: small chunks are joined, large ones split. */
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

/** The path of a column without a leading table name or alias. */
export function withoutAlias(path: Path, alias: string | undefined): Path {
  const [first, ...rest] = path
  if (first === undefined || !('name' in first) || rest.length === 0) return path
  const name = first.name.toLowerCase()
  return name === 'blobstorage' || name === alias?.toLowerCase() ? rest : path
}
