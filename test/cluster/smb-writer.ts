// An SMB client that writes one block after the other through a persistent handle. When its connection ends, it connects
// again, gets its handle back and repeats the block whose answer it has not seen, as clients do.
import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { DIALECT } from '../../src/smb/session/dialect.ts'
import { COMMAND } from '../../src/smb/wire/header.ts'
import { ACCOUNT, ACCOUNT_KEY } from '../harness.ts'
import { writeBody } from '../smb/client-message.ts'
import { durableRequest, PERSISTENT, reconnectRequest } from '../smb/durable-request.ts'
import { RawClient } from '../smb/raw-client.ts'

const BLOCK_BYTES = 512
const FILE_ID_AT = 64 + 64

export class SmbWriter {
  readonly #port: number
  #client: RawClient | undefined
  #fileId: Buffer | undefined
  /** Blocks whose WRITE was answered with success; they have the numbers from 0. */
  acknowledgedCount = 0
  reconnectCount = 0

  constructor(smbPort: number) {
    this.#port = smbPort
  }

  /** Writes until the signal is aborted. The file is `a` in the share `box`. */
  async run(enough: AbortSignal): Promise<void> {
    while (!enough.aborted) {
      const client = (this.#client ??= await this.#connect())
      if (client === undefined) await setImmediate()
      else if (await this.#writeNext(client)) this.acknowledgedCount += 1
      else this.#client = undefined
    }
    this.#client?.close()
  }

  /** false: the connection has ended. */
  async #writeNext(client: RawClient): Promise<boolean> {
    assert(this.#fileId !== undefined)
    const at = this.acknowledgedCount
    const body = writeBody(this.#fileId, at * BLOCK_BYTES, blockOf(at))
    const answer = await client.ask(COMMAND.WRITE, body)
    if (answer !== undefined) assert.equal(answer.status, 'SUCCESS')
    return answer !== undefined
  }

  /** undefined: files have no home at the moment. */
  async #connect(): Promise<RawClient | undefined> {
    const client = await RawClient.open(this.#port)
    if (await this.#opens(client)) return client
    client.close()
    return undefined
  }

  async #opens(client: RawClient): Promise<boolean> {
    if ((await client.negotiate([DIALECT.smb300]))?.status !== 'SUCCESS') return false
    if ((await client.setUpSession(ACCOUNT, ACCOUNT_KEY))?.status !== 'SUCCESS') return false
    if ((await client.connectTree('box'))?.status !== 'SUCCESS') return false
    const body = this.#fileId ? reconnectRequest(this.#fileId) : durableRequest(PERSISTENT)
    const opened = await client.ask(COMMAND.CREATE, body)
    if (opened === undefined) return false
    assert.equal(opened.status, 'SUCCESS')
    if (this.#fileId !== undefined) this.reconnectCount += 1
    this.#fileId = opened.message.subarray(FILE_ID_AT, FILE_ID_AT + 16)
    return true
  }
}

function blockOf(number: number): Buffer {
  return Buffer.alloc(BLOCK_BYTES, `${number};`)
}

/** Every acknowledged block is there, and at most one more, since its answer was lost. */
export function assertBlocks(content: Buffer, acknowledgedCount: number): void {
  const count = content.length / BLOCK_BYTES
  assert(count === acknowledgedCount || count === acknowledgedCount + 1, `${count} blocks`)
  for (let at = 0; at < count; at += 1) {
    const block = content.subarray(at * BLOCK_BYTES, (at + 1) * BLOCK_BYTES)
    assert(block.equals(blockOf(at)), `block ${at}`)
  }
}
