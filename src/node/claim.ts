// Tells a copied folder from one that is in use. A copy of a running server's folder names the socket of the original. So
// whoever wants a folder leaves a file in it and asks the owner at that socket whether it sees the file in its own.
import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { randomUUID } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'

/** `inUse` also if the owner does not say: it may be busy, or of an earlier version. */
export type Claimed = 'inUse' | 'dead' | 'copy'

type Claim = { readonly file: string; readonly store: string | undefined }

const FILE = /^\.lazuli-[0-9a-f-]{36}\.claim$/
const CLAIM_BYTES_MAX = 1_024
const ANSWER_MS_MAX = 5_000

/** Asks the owner at `socket` whether `folder` is its own. */
export async function claimFolder(socket: string, folder: string): Promise<Claimed> {
  const file = `.lazuli-${randomUUID()}.claim`
  const path = join(folder, file)
  writeFileSync(path, '', { mode: 0o600 })
  try {
    return await ask(socket, { file, store: storeIdentity(folder) })
  } finally {
    rmSync(path, { force: true })
  }
}

function ask(path: string, claim: Claim): Promise<Claimed> {
  return new Promise((resolve) => {
    let isAlive = false
    let answer = ''
    const socket = connect(path)
    socket.setEncoding('utf8').setTimeout(ANSWER_MS_MAX, () => socket.destroy())
    socket.once('connect', () => {
      isAlive = true
      socket.write(`${JSON.stringify(claim)}\n`)
    })
    socket.on('data', (text: string) => (answer = (answer + text).slice(0, CLAIM_BYTES_MAX)))
    // EAGAIN: so many connect to the owner that it can't accept another.
    socket.on('error', ({ code }: NodeJS.ErrnoException) => (isAlive ||= code === 'EAGAIN'))
    socket.once('close', () => {
      if (!isAlive) resolve('dead')
      else resolve(answer === 'other\n' ? 'copy' : 'inUse')
    })
  })
}

/** What the owner of `folder` does with each connection. */
export function answerClaims(folder: string): (socket: Socket) => void {
  // Now, since somebody may move the folder.
  const store = storeIdentity(folder)
  return (socket) => {
    let text = ''
    socket.setEncoding('utf8').setTimeout(ANSWER_MS_MAX, () => socket.destroy())
    socket.on('error', () => undefined)
    socket.on('data', (more: string) => {
      text += more
      const isTooLong = text.length > CLAIM_BYTES_MAX
      if (!isTooLong && !text.endsWith('\n')) return
      const isMine = isTooLong ? undefined : claimsMine(text, folder, store)
      if (isMine === undefined) socket.destroy()
      else socket.end(isMine ? 'mine\n' : 'other\n')
    })
  }
}

/** undefined: it is no claim. Hard links are one store in two folders. */
function claimsMine(text: string, folder: string, store?: string): boolean | undefined {
  const claim = decodeClaim(text)
  if (claim === undefined || !FILE.test(claim.file)) return undefined
  if (store !== undefined && store === claim.store) return true
  return existsSync(join(folder, claim.file))
}

function decodeClaim(text: string): Claim | undefined {
  try {
    const claim: Partial<Claim> | null = JSON.parse(text)
    return typeof claim?.file === 'string' ? { file: claim.file, store: claim.store } : undefined
  } catch {
    return undefined
  }
}

function storeIdentity(folder: string): string | undefined {
  const stat = statSync(join(folder, 'store', 'data.mdb'), { bigint: true, throwIfNoEntry: false })
  return stat === undefined ? undefined : `${stat.dev}:${stat.ino}`
}
