// impacket, an independent SMB client, as a process that holds files open for a test (impacket-client.py).
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { ACCOUNT, ACCOUNT_KEY } from '../harness.ts'
import { missingReason } from '../clients/program.ts'
import { PYTHON } from '../clients/python-suite.ts'
import { statusName } from './client-message.ts'
import { SmbFailure } from './smb-client.ts'

const SCRIPT = fileURLToPath(new URL('impacket-client.py', import.meta.url))

export const noImpacket = missingReason('python3-impacket', [PYTHON, '-c', 'import impacket'])

type Answer = { readonly result?: unknown; readonly failure?: string }

export type ImpacketClient = {
  /** The handle's number. */
  open(terms: {
    readonly path: string
    readonly access: number
    readonly share: number
    readonly options?: number
  }): Promise<number>
  close(handle: number): Promise<void>
  lock(
    handle: number,
    offset: number,
    length: number,
    kind: 'shared' | 'exclusive' | 'unlock',
  ): Promise<void>
  setDisposition(handle: number, pending: boolean): Promise<void>
  read(handle: number, offset: number, length: number): Promise<string>
  end(): Promise<void>
}

/** Commands are answered one at a time, in order. */
export function startImpacket(port: number, share: string): ImpacketClient {
  const args = [SCRIPT, String(port), ACCOUNT, ACCOUNT_KEY, share]
  const child = spawn(PYTHON, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  let last: Promise<unknown> = Promise.resolve()
  const ask = async (command: string, fields: object): Promise<unknown> => {
    child.stdin.write(`${JSON.stringify({ command, ...fields })}\n`)
    const { value, done } = await lines.next()
    assert(done !== true, 'impacket has ended')
    const { result, failure } = JSON.parse(value) as Answer
    if (failure === undefined) return result
    assert(failure.startsWith('0x'), failure)
    throw new SmbFailure(statusName(Number(failure)))
  }
  const inTurn = (command: string, fields: object): Promise<unknown> => {
    const answer = last.then(() => ask(command, fields))
    last = answer.catch(() => undefined)
    return answer
  }
  return {
    open: async (terms) => Number(await inTurn('open', terms)),
    close: async (handle) => void (await inTurn('close', { handle })),
    lock: async (handle, offset, length, kind) =>
      void (await inTurn('lock', { handle, offset, length, kind })),
    setDisposition: async (handle, pending) =>
      void (await inTurn('disposition', { handle, pending })),
    read: async (handle, offset, length) =>
      String(await inTurn('read', { handle, offset, length })),
    end: async () => {
      child.stdin.end()
      if (child.exitCode === null) await once(child, 'close')
    },
  }
}
