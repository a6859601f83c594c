// The races that the journal shows. Looking for them costs the server a walk through its journal, so it is asked once the
// requests have paused, and at most every few seconds.
import type { Race } from '../../../control/api.ts'
import { get, messageOf } from '../api/call.ts'
import { computed, effect, signal } from '../library.ts'
import { entries } from './journal.ts'

export const races = signal<readonly Race[] | undefined>(undefined)
export const racesFailure = signal<string | undefined>(undefined)

export const raceCount = computed(
  () => races.value?.filter(({ isHarmless }) => !isHarmless).length ?? 0,
)

const PAUSE_MS = 400

let timer: ReturnType<typeof setTimeout> | undefined
let isAsking = false

effect(() => {
  if (entries.value.length === 0) races.value = races.peek() && []
  else timer ??= setTimeout(ask, PAUSE_MS)
})

async function ask(): Promise<void> {
  timer = undefined
  if (isAsking) {
    timer = setTimeout(ask, PAUSE_MS)
    return
  }
  isAsking = true
  try {
    races.value = (await get<{ readonly races: readonly Race[] }>('races')).races
    racesFailure.value = undefined
  } catch (error) {
    racesFailure.value = messageOf(error)
  } finally {
    isAsking = false
  }
}
