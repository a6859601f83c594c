// Measures Lazuli with a million blobs in one container: Put Blob as the container grows, memory, restart time, and a
// page of a list compared with the same page among a thousand blobs. Names are not put in their sort order, which is the
// hard case for a tree.
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { mustCall } from './call.ts'
import { atMost, median, number, table } from './report.ts'
import { CONNECTION_COUNT } from './rounds.ts'
import { createContainer, putRequest } from './row.ts'
import { memory, type Running, start, type Target } from './target.ts'
import { drive, type Load } from './wrk.ts'

export type MillionOptions = {
  readonly target: Target
  readonly folder: string
  readonly blobCount: number
}

const FEW_COUNT = 1000
const BODY_BYTES = 100
const LOAD_MS_MAX = 225_000
const SLICE_S_MAX = 5
/** Puts per second, until they are measured. */
const RATE_GUESS = 10_000
const PAGE_COUNT = 40
const MEMORY_MIB_GOAL = 300
const READY_S_GOAL = 1
const PAGE_RATIO_GOAL = 1.5

type Slice = { readonly stored: number; readonly perSecond: number; readonly p99Ms: number }

export async function measureMillion(options: MillionOptions): Promise<string> {
  const { target, folder, blobCount } = options
  const location = join(folder, 'million')
  let server = await start(target, { location })
  await load(server, {
    container: 'few',
    blobCount: FEW_COUNT,
    numberCount: FEW_COUNT,
    folder,
  })
  const slices = await load(server, { container: 'many', blobCount, numberCount: 0, folder })
  const loaded = memory(server.pid)
  await server.stop()
  server = await start(target, { location })
  await wait(1000)
  const restarted = memory(server.pid)
  const pages = await timePages(server)
  const listed = memory(server.pid)
  await server.stop()
  const mib = ({ totalMiB, anonymousMiB }: typeof loaded) =>
    `${atMost(totalMiB, MEMORY_MIB_GOAL, ' MiB')}, ${number(anonymousMiB)} of it anonymous`
  const rows = [
    ['memory after the puts', mib(loaded)],
    ['memory after a restart', mib(restarted)],
    ['memory after lists', mib(listed)],
    ['start to first answer', atMost(server.readyMs / 1000, READY_S_GOAL, ' s')],
    ['first page among 1,000', `${number(pages.fewMs)} ms`],
    ['first page among all', pageCell(pages.firstMs, pages.fewMs)],
    ['a page in the middle of all', pageCell(pages.middleMs, pages.fewMs)],
  ]
  const stored = number(slices.at(-1)?.stored ?? 0)
  return [growthTable(slices, blobCount), table([`with ${stored} blobs`, ''], rows)].join('\n\n')
}

function pageCell(pageMs: number, fewMs: number): string {
  return `${number(pageMs)} ms, ${atMost(pageMs / fewMs, PAGE_RATIO_GOAL, '×')}`
}

type LoadOptions = Pick<Load, 'numberCount' | 'folder'> & {
  readonly container: string
  readonly blobCount: number
}

/** Puts blobs in slices of a few seconds, until all are stored or the time is up. */
async function load(server: Running, options: LoadOptions): Promise<readonly Slice[]> {
  const { container, blobCount } = options
  await createContainer(server, container)
  const slices: Slice[] = []
  const startedMs = performance.now()
  let stored = 0
  while ((slices.at(-1)?.stored ?? 0) < blobCount && performance.now() - startedMs < LOAD_MS_MAX) {
    const leftS = (blobCount - stored) / (slices.at(-1)?.perSecond ?? RATE_GUESS)
    const outcome = await drive({
      ...options,
      request: putRequest(server, container, BODY_BYTES),
      firstNumber: stored,
      order: 'scatter',
      connectionCount: CONNECTION_COUNT,
      durationS: Math.min(Math.max(Math.ceil(leftS), 1), SLICE_S_MAX),
    })
    if (outcome.refused + outcome.broken > 0) throw new Error(`puts failed after ${stored}`)
    const perSecond = (outcome.requests * 1e6) / outcome.durationUs
    slices.push({ stored, perSecond, p99Ms: outcome.p99Us / 1000 })
    // The last puts may not have been answered, so repeat them.
    stored = outcome.nextNumber - CONNECTION_COUNT
    console.error(`${container}: ${number(stored)} stored, ${number(perSecond)}/s`)
  }
  return slices
}

/** The slices nearest to 0, 25, 50, 75 and 100 %, each once. */
function growthTable(slices: readonly Slice[], blobCount: number): string {
  const nearest = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const distance = (slice: Slice) => Math.abs(slice.stored - share * blobCount)
    return slices.toSorted((a, b) => distance(a) - distance(b)).slice(0, 1)
  })
  const rows = [...new Set(nearest.flat())].map(({ stored, perSecond, p99Ms }) => [
    number(stored),
    number(perSecond),
    number(p99Ms),
  ])
  return table(['stored', `Put Blob ${BODY_BYTES} bytes/s`, 'p99 ms'], rows)
}

/** Medians of pages that are requested in turn, one at a time. */
async function timePages(server: Running) {
  const list = (container: string, more = '') =>
    `${server.endpoint('blob')}/${container}?restype=container&comp=list&maxresults=1000${more}&${server.sas}`
  const urls = {
    fewMs: list('few'),
    firstMs: list('many'),
    middleMs: list('many', '&prefix=blob-2'),
  }
  const timesMs = { fewMs: [0], firstMs: [0], middleMs: [0] }
  for (let i = 0; i < PAGE_COUNT; i++) {
    timesMs.fewMs[i] = await timePage(urls.fewMs)
    timesMs.firstMs[i] = await timePage(urls.firstMs)
    timesMs.middleMs[i] = await timePage(urls.middleMs)
  }
  return {
    fewMs: median(timesMs.fewMs),
    firstMs: median(timesMs.firstMs),
    middleMs: median(timesMs.middleMs),
  }
}

async function timePage(url: string): Promise<number> {
  const startedMs = performance.now()
  const page = await mustCall(url)
  const durationMs = performance.now() - startedMs
  const count = page.toString().split('<Name>').length - 1
  if (count !== 1000) throw new Error(`a page of ${count} blobs`)
  return durationMs
}
