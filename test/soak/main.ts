// npm run soak [-- --minutes N] [--clients N] [--seed N] [--json]
//
// Ten minutes of mixed traffic, or as many as are given, against a server in a process of its own. Prints what was measured, and ends with 0 if the
// server is as it was after it had warmed up, 1 if it is not, 2 if the run says nothing.
import { randomInt } from 'node:crypto'
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { soak, type SoakResult } from './run.ts'
import { shown, type Sample } from './verdict.ts'

const MINUTES = 10
const CLIENTS = 8
const SAMPLES_PER_MINUTE = 6
const SAMPLES_MIN = 30
const MIB = 2 ** 20
const EXIT_CODES = { flat: 0, 'not flat': 1, 'says nothing': 2 } as const

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: String(MINUTES) },
    clients: { type: 'string', default: String(CLIENTS) },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    json: { type: 'boolean', default: false },
  },
})
const [minutes, clientCount, seed] = [values.minutes, values.clients, values.seed].map(Number) as [
  number,
  number,
  number,
]
if (!(minutes > 0) || !(clientCount >= 1) || !(seed >= 0)) {
  console.error('--minutes, --clients and --seed must be numbers above 0')
  process.exit(2)
}

const print = (line: string): void => {
  if (!values.json) console.log(line)
}

print(`seed ${seed}: ${clientCount} clients for ${minutes} minutes`)
print('    sample  operations  heap MiB  buffers MiB  RSS MiB  descriptors  lag p99 ms')
const result = await soak({
  seconds: minutes * 60,
  sampleCount: Math.max(SAMPLES_MIN, Math.round(minutes * SAMPLES_PER_MINUTE)),
  clientCount,
  seed,
  onSample: (sample, at) => print(rowOf(sample, at)),
})
if (values.json)
  console.log(JSON.stringify({ seed, minutes, clientCount, loadAverage: loadavg(), ...result })) // prettier-ignore
else report(result)
process.exit(EXIT_CODES[result.verdict.outcome])

function rowOf(sample: Sample, at: number): string {
  const { heapBytes, externalBytes, rssBytes } = sample
  const memory = [heapBytes, externalBytes, rssBytes].map((bytes) => (bytes / MIB).toFixed(1))
  const cells = [at + 1, sample.operationCount, ...memory, sample.descriptorCount, sample.loopLagMs.toFixed(1)] // prettier-ignore
  const widths = [10, 12, 10, 13, 9, 13, 12]
  return cells.map((cell, column) => String(cell).padStart(widths[column] ?? 0)).join('')
}

function report({ ending, verdict, operationCount, smbclientCount }: SoakResult): void {
  print('\n                                                first        last     at most')
  for (const { what, first, last, max, isWithin } of verdict.findings) {
    const cells = [first, last, max].map((value) => shown(value).padStart(12)).join('')
    print(`${isWithin ? ' ' : '!'} ${what.padEnd(40)}${cells}`)
  }
  const { diskBytes, liveBytes, fsckExitCode } = ending
  print(`\n${shown(operationCount)} operations, ${smbclientCount} visits of smbclient; load ${loadavg().map((load) => load.toFixed(1)).join(' ')}`) // prettier-ignore
  print(`disk ${(diskBytes / MIB).toFixed(1)} MiB, live ${(liveBytes / MIB).toFixed(1)} MiB, fsck ${fsckExitCode}`) // prettier-ignore
  print(`${verdict.outcome}${verdict.reasons.map((reason) => `\n  ${reason}`).join('')}`)
}
