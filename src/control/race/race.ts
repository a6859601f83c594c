// The race detector: looks through the journal for what went wrong between clients, and for what could have. It costs
// nothing until somebody asks.
import { clientAct } from './act.ts'
import { detectAppendedOver } from './appended-over.ts'
import { detectCheckThenAct } from './check-then-act.ts'
import type { Detector, Finding, RaceContext } from './finding.ts'
import { historyOf } from './history.ts'
import { createKnowledge } from './knowledge.ts'
import { detectOutlivedLeases } from './lease-outlived.ts'
import { detectLostUpdates } from './lost-update.ts'
import { detectMessagesTwice } from './message-twice.ts'
import { detectRenamedOver } from './renamed-over.ts'
import { detectRestOverSmb } from './rest-over-smb.ts'
import { detectStaleLists, detectTornReads } from './torn-read.ts'
import type { Race, RaceApi } from '../api.ts'
import type { ClientSource } from '../client.ts'
import type { Entry } from '../entry.ts'
import type { Journal } from '../journal.ts'

const DETECTORS: readonly ((context: RaceContext) => Detector)[] = [
  detectLostUpdates,
  detectRenamedOver,
  detectAppendedOver,
  detectCheckThenAct,
  detectOutlivedLeases,
  detectMessagesTwice,
  detectTornReads,
  detectStaleLists,
  detectRestOverSmb,
]

/** `entries` in the order in which they ended. The findings are in that order too. */
export function findRaces(
  entries: Iterable<Entry>,
  by: readonly ClientSource[],
): readonly Finding[] {
  const acts = Array.from(entries, (entry) => clientAct(entry, by))
  const findings = new Map<string, Finding>()
  const context: RaceContext = {
    history: historyOf(acts),
    knowledge: createKnowledge(acts),
    report(finding) {
      const key = pairOf(finding)
      const known = findings.get(key)
      if (known === undefined || (known.isHarmless === true && finding.isHarmless !== true)) {
        findings.set(key, finding)
      }
    },
  }
  const detectors = DETECTORS.map((detector) => detector(context))
  for (const act of acts) {
    for (const detect of detectors) detect(act)
    context.knowledge.learn(act)
  }
  return [...findings.values()]
}

/** Two requests may collide on several objects; that is one finding. */
function pairOf({ kind, acts }: Finding): string {
  return [kind, ...acts.slice(-2).map(({ entry }) => entry.id)].join(' ')
}

/** undefined: no journal is kept. */
export function createRaces(journal: Journal | undefined): RaceApi {
  const races = (): readonly Race[] => {
    if (journal === undefined) {
      throw new Error('Races are found in the journal, and the option `journal` is off.')
    }
    return findRaces(journal.entries(), journal.clientBy).map(({ acts, ...finding }) => ({
      ...finding,
      isHarmless: finding.isHarmless === true,
      entries: acts.map(({ entry }) => journal.view(entry)),
    }))
  }
  return {
    races,
    // The interface is the same as over HTTP, where it takes time.
    expectNoRaces: async () => {
      const found = races().filter(({ isHarmless }) => !isHarmless)
      if (found.length > 0) throw new Error(reportOf(found, journal?.displacedCount ?? 0))
      if (journal !== undefined && journal.displacedCount > 0) throw new Error(incomplete(journal))
    },
  }
}

/** A report that nobody reads to its end needs no more. */
const SHOWN_MAX = 20

function reportOf(found: readonly Race[], displacedCount: number): string {
  const shown = found.slice(0, SHOWN_MAX)
  return [
    `${found.length} ${found.length === 1 ? 'race' : 'races'}:`,
    ...shown.map(({ kind, explanation }, at) => `${at + 1}. ${kind}: ${explanation}`),
    ...(found.length > shown.length ? [`… and ${found.length - shown.length} more.`] : []),
    ...(displacedCount > 0
      ? [`${displacedCount} earlier requests are no longer in the journal.`]
      : []),
  ].join('\n')
}

function incomplete({ displacedCount }: Journal): string {
  return (
    `No race was found, but ${displacedCount} earlier requests are no longer in the journal. ` +
    'Clear the journal before the part that matters, or set the option `journal` to a larger `countMax` and `bytesMax`.'
  )
}
