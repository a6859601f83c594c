// Measures the time from the start of each server to its first response, and its memory at rest.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { atMost, median, number, table } from './report.ts'
import { memory, start, type Target } from './target.ts'

export type StartUp = {
  readonly target: Target
  readonly listeningMs: number
  readonly readyMs: number
  readonly totalMiB: number
  readonly anonymousMiB: number
}

const REST_MS = 1000
const READY_S_GOAL = 0.4
const REST_MIB_GOAL = 120

export async function measureStartUp(target: Target, folder: string, startCount: number) {
  const starts: StartUp[] = []
  for (let i = 0; i < startCount; i++) {
    const location = join(folder, `${target.name}-start-${i}`)
    const { listeningMs, readyMs, pid, stop } = await start(target, { location })
    await wait(REST_MS)
    starts.push({ target, listeningMs, readyMs, ...memory(pid) })
    await stop()
    await rm(location, { recursive: true, force: true })
  }
  const of = (pick: (start: StartUp) => number) => median(starts.map(pick))
  return {
    target,
    listeningMs: of((start) => start.listeningMs),
    readyMs: of((start) => start.readyMs),
    totalMiB: of((start) => start.totalMiB),
    anonymousMiB: of((start) => start.anonymousMiB),
  }
}

export function startUpTable(startUps: readonly StartUp[]): string {
  const header = ['server', 'start to listening', 'start to first answer', 'memory at rest']
  const rows = startUps.map(({ target, listeningMs, readyMs, totalMiB, anonymousMiB }) => {
    const ours = target.name === 'lazuli'
    const readyS = readyMs / 1000
    const ready = ours ? atMost(readyS, READY_S_GOAL, ' s') : `${number(readyS)} s`
    const total = ours ? atMost(totalMiB, REST_MIB_GOAL, ' MiB') : `${number(totalMiB)} MiB`
    const rest = `${total}, ${number(anonymousMiB)} of it anonymous`
    return [target.title, `${number(listeningMs / 1000)} s`, ready, rest]
  })
  return table(header, rows)
}
