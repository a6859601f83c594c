// Kills a process during uploads and sweeps. Every blob that it has acknowledged is still stored.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { assertBytes } from '../../../test/assert-bytes.ts'
import { patternBytes } from '../harness.ts'
import { KILLED_BLOB_BYTES, openHarness } from './killed-process.ts'

const ACKNOWLEDGED_MIN = 60
const CHILD = `
  const { uploadUntilKilled } = await import('./killed-process.ts')
  await uploadUntilKilled(process.argv[1], (blob) => process.stdout.write(blob + '\\n'))
`

test('SIGKILL loses no acknowledged write', { timeout: 60_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'extent-kill-'))
  try {
    const acknowledged = await killWhileWriting(folder)
    const harness = await openHarness(folder, { ms: 10_000_000_000 })
    const checkAll = async () => {
      for (const i of acknowledged) {
        assertBytes(await harness.get(`b${i}`), patternBytes(i, KILLED_BLOB_BYTES))
      }
      await harness.checkSound()
    }
    await checkAll()
    await harness.sweepAll()
    await checkAll()
    await harness.store.close()
    await harness.kv.close()
  } finally {
    await rm(folder, { recursive: true })
  }
})

async function killWhileWriting(folder: string): Promise<readonly number[]> {
  const args = ['--input-type=module', '--eval', CHILD, folder]
  const child = spawn(process.execPath, args, {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const acknowledged: number[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    acknowledged.push(Number(line))
    if (acknowledged.length === ACKNOWLEDGED_MIN) child.kill('SIGKILL')
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  assert.equal(child.signalCode, 'SIGKILL')
  return acknowledged
}
