// A soak of a few seconds: its parts work together. What it says of memory and latency counts only for longer runs: npm run soak.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { cleanUp } from '../server-process.ts'
import { soak } from './run.ts'

after(cleanUp)

test('a server under mixed traffic answers as it should, and fsck finds nothing', async () => {
  const { samples, ending, operationCount, verdict } = await soak({
    seconds: 4,
    sampleCount: 10,
    clientCount: 3,
    seed: 1,
  })
  assert.equal(samples.length, 10)
  assert.deepEqual(ending.errors, [])
  assert.equal(ending.fsckExitCode, 0)
  assert(operationCount > 0)
  assert(ending.liveBytes > 2 ** 20 && ending.diskBytes >= ending.liveBytes)
  const of = (what: RegExp) => verdict.findings.filter((each) => what.test(each.what))
  // A leak that shows within seconds is one.
  for (const each of of(/^(heap|buffers|resident|descriptors)/)) assert(each.isWithin, JSON.stringify(each))
}) // prettier-ignore
