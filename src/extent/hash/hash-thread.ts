// The worker that hash-threads.ts starts: hashes the batches that it receives and sends their buffers back.
import { parentPort } from 'node:worker_threads'
import { createHasher, type DigestHasher } from './hash.ts'
import type { HashAnswer, HashMessage } from './hash-threads.ts'

const bodies = new Map<number, readonly DigestHasher[]>()

parentPort?.on('message', ({ body, kinds, bytes, lengthBytes, isLast }: HashMessage) => {
  const hashers = bodies.get(body) ?? kinds.map((kind) => createHasher(kind))
  for (const hasher of hashers) hasher.update(new Uint8Array(bytes, 0, lengthBytes))
  if (isLast) bodies.delete(body)
  else bodies.set(body, hashers)
  const digests = isLast ? hashers.map((hasher) => hasher.digest()) : undefined
  const answer: HashAnswer = { body, bytes, digests }
  parentPort?.postMessage(answer, [bytes])
})
