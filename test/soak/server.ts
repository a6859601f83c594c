// The process of the server: it runs as the command runs it, with real time, and measures itself when its parent asks.
import { readdirSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { runTestServer } from '../running-server.ts'

export type Ask = 'sample' | 'sweep' | 'close'

export type Measured = {
  readonly rssBytes: number
  readonly heapBytes: number
  readonly externalBytes: number
  readonly descriptorCount: number
  readonly loopLagMs: number
}

export type Ports = Readonly<Record<'blob' | 'queue' | 'table' | 'file' | 'dfs' | 'smb', number>>

/** The clock of a test's server moves when it is told to. */
const TICK_MS = 20
const SWEEP_COUNT = 30

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const server = await runTestServer({
  folder: process.argv[2] ?? '',
  silent: true,
  logLevel: 'error',
})
let lastMs = performance.now()
setInterval(() => {
  const nowMs = performance.now()
  server.advance(nowMs - lastMs)
  lastMs = nowMs
}, TICK_MS).unref()

const delay = monitorEventLoopDelay({ resolution: 5 })
delay.enable()

function measure(): Measured {
  const loopLagMs = delay.percentile(99) / 1e6
  collect()
  collect()
  const { rss, heapUsed, external, arrayBuffers } = process.memoryUsage()
  // What collecting has taken is not the server's.
  delay.reset()
  return {
    rssBytes: rss,
    heapBytes: heapUsed,
    externalBytes: external + arrayBuffers,
    descriptorCount: readdirSync('/proc/self/fd').length,
    loopLagMs,
  }
}

/** Each sweep removes a limited number of extents. */
async function sweep(): Promise<string> {
  for (let count = 0; count < SWEEP_COUNT; count += 1) await server.store.sweep({ graceMs: 0 })
  return server.logged()
}

async function close(): Promise<void> {
  await server.close()
  process.disconnect()
}

process.on('message', (ask: Ask) => {
  if (ask === 'sample') process.send?.(measure())
  else if (ask === 'sweep') void sweep().then((logged) => process.send?.(logged))
  else void close()
})

const { blobPort, queuePort, tablePort, filePort, dfsPort, smbPort } = server
const ports: Ports = { blob: blobPort, queue: queuePort, table: tablePort, file: filePort, dfs: dfsPort, smb: smbPort } // prettier-ignore
process.send?.(ports)
