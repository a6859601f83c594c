// Stores rows: what waits for one table is stored together, in one statement, which is also one durable commit. Two
// statements run at a time, so that one is sent while the other waits for the disk.
import { BufferPool } from '../../memory/buffer-pool.ts'
import { DatabaseUnavailable, sqlState } from '../../postgres/client.ts'
import { callDeadlineMs, isLost, type Pool } from '../../postgres/pool.ts'
import { copiedBytes, encodeRows, type Rows } from './row.ts'
import { copyRowsIn } from './table.ts'

type Waiting = {
  readonly extent: number
  readonly rows: Rows
  resolve(): void
  reject(error: unknown): void
}

/** Bytes per statement, unless a single piece is longer. */
const GROUP_BYTES_MAX = 2 * 1_024 * 1_024
const UNIQUE_VIOLATION = '23505'

export class RowWriter {
  readonly #pool: Pool
  readonly #statementsMax: number
  readonly #buffers: BufferPool
  #waiting: Waiting[] = []
  #running = 0

  constructor(pool: Pool, statementsMax: number) {
    this.#pool = pool
    this.#statementsMax = statementsMax
    this.#buffers = new BufferPool(2 * GROUP_BYTES_MAX * statementsMax)
  }

  /** Resolves when the rows are durable. */
  write(extent: number, rows: Rows): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ extent, rows, resolve, reject })
      this.#start()
    })
  }

  #start(): void {
    while (this.#running < this.#statementsMax && this.#waiting.length > 0) {
      this.#running += 1
      void this.#store(this.#takeGroup()).then(() => {
        this.#running -= 1
        this.#start()
      })
    }
  }

  /** The first that waits, and others for the same table. */
  #takeGroup(): readonly Waiting[] {
    const [first] = this.#waiting
    const group: Waiting[] = []
    let lengthBytes = 0
    for (const each of this.#waiting) {
      lengthBytes += each.rows.lengthBytes
      if (group.length > 0 && lengthBytes > GROUP_BYTES_MAX) break
      if (each.extent === first?.extent) group.push(each)
    }
    this.#waiting = this.#waiting.filter((each) => !group.includes(each))
    return group
  }

  /** Never rejects. */
  async #store(group: readonly Waiting[]): Promise<void> {
    try {
      const all = group.map(({ rows }) => rows)
      const lengthBytes = copiedBytes(all)
      const buffer = this.#buffers.take(lengthBytes) ?? Buffer.allocUnsafeSlow(lengthBytes)
      encodeRows(all, buffer)
      await this.#copy(copyRowsIn(group[0]?.extent ?? 0), buffer.subarray(0, lengthBytes))
      this.#buffers.giveBack(buffer)
      for (const { resolve } of group) resolve()
    } catch (error) {
      // The driver may still hold the buffer, so it is not reused. If the database is away, nobody waits for it twice.
      const failed =
        error instanceof DatabaseUnavailable ? [...group, ...this.#waiting.splice(0)] : group
      for (const { reject } of failed) reject(error)
    }
  }

  /** Repeats the statement if its connection was lost. Only this process writes these rows. */
  async #copy(text: string, input: Uint8Array): Promise<void> {
    const deadlineMs = callDeadlineMs()
    for (let isRepeated = false; ; isRepeated = true) {
      const connection = await this.#pool.take(deadlineMs)
      try {
        return await connection.copyFrom(text, input, deadlineMs)
      } catch (error) {
        // The first one was stored, though its answer was lost.
        if (isRepeated && sqlState(error) === UNIQUE_VIOLATION) return
        if (!isLost(error) || performance.now() >= deadlineMs) throw error
      } finally {
        this.#pool.put(connection)
      }
    }
  }
}
