// The process of the server: it runs as the command runs it, with real time, and measures itself when its parent asks.
import { startMeasuring } from '../process-measure.ts'
import { runTestServer } from '../running-server.ts'

export type Ask = 'sample' | 'sweep' | 'close'

export type Ports = Readonly<Record<'blob' | 'queue' | 'table' | 'file' | 'dfs' | 'smb', number>>

/** The clock of a test's server moves when it is told to. */
const TICK_MS = 20
const SWEEP_COUNT = 30

/** A client has to try again if it uses a connection in the moment in which the server closes it. The clients here don't. */
const KEEP_ALIVE_SECONDS = 3_600

const server = await runTestServer({
  folder: process.argv[2] ?? '',
  blobKeepAliveTimeout: KEEP_ALIVE_SECONDS,
  queueKeepAliveTimeout: KEEP_ALIVE_SECONDS,
  tableKeepAliveTimeout: KEEP_ALIVE_SECONDS,
  fileKeepAliveTimeout: KEEP_ALIVE_SECONDS,
  dfsKeepAliveTimeout: KEEP_ALIVE_SECONDS,
  silent: true,
  logLevel: 'error',
})
let lastMs = performance.now()
setInterval(() => {
  const nowMs = performance.now()
  server.advance(nowMs - lastMs)
  lastMs = nowMs
}, TICK_MS).unref()

const measure = startMeasuring()

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
