// Scans a whole range in bounded steps. Each step is a read of its own, and the event loop runs between them, so a scan
// holds neither a snapshot nor the process for long. It may or may not see concurrent changes.
import { setImmediate } from 'node:timers/promises'
import { keyAfter, type Entry, type KeyRange, type Kv } from '../kv/kv.ts'

const STEP_COUNT = 256

export async function* scanPages(
  kv: Kv,
  range: KeyRange,
  countMax: number = STEP_COUNT,
): AsyncGenerator<readonly Entry[]> {
  let from = range.from
  for (;;) {
    const start = from
    const page = await kv.read((tx) => tx.scan({ from: start, to: range.to, countMax }))
    if (page.length > 0) yield page
    const last = page.at(-1)
    if (last === undefined || page.length < countMax) return
    from = keyAfter(last.key)
    await setImmediate()
  }
}

export async function* scanSteps(kv: Kv, range: KeyRange): AsyncGenerator<Entry> {
  for await (const page of scanPages(kv, range)) yield* page
}
