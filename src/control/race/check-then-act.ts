// Check then act: a client found that something did not exist, and created it without a condition when another client
// already had.
import {
  clientsOf,
  quoted,
  resourceOfAct,
  when,
  type Detector,
  type RaceContext,
} from './finding.ts'
import { overwritesOf } from './overwrite.ts'

export function detectCheckThenAct(context: RaceContext): Detector {
  return (act) => {
    for (const { known, other, harmlessAs } of overwritesOf(context, act)) {
      if (!known.isAbsent) continue
      const isHarmless = harmlessAs !== undefined
      const [mine, theirs] = [quoted(act), quoted(other.act)]
      const isFile = act.entry.service === 'file'
      context.report({
        kind: 'check then act',
        isHarmless,
        resource: resourceOfAct(act),
        explanation:
          `${mine} found that ${resourceOfAct(act)} did not exist (${when(known.act)}). ` +
          `${theirs} created it (${when(other.act)}). Then ${mine} created it without a condition ` +
          `(${when(act)}), ${isHarmless ? 'which changed other properties' : `so what ${theirs} wrote is lost`}. ` +
          (isFile ? FILE_REMEDY : act.entry.service === 'table' ? TABLE_REMEDY : REMEDY),
        clients: clientsOf([act, other.act]),
        acts: [known.act, other.act, act],
      })
    }
  }
}

const REMEDY =
  'Create it with If-None-Match: * instead of asking first; one of the two then gets 409.'
const TABLE_REMEDY = 'Use Insert Entity instead of asking first; one of the two then gets 409.'
const FILE_REMEDY =
  'Create File has no such condition: create it over SMB with the disposition FILE_CREATE, ' +
  'or let a lease on another file decide who creates it.'
