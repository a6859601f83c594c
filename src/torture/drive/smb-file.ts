// What clients do to the files of a directory over SMB: each opens a file with some access and sharing, uses it a few times, and
// closes it. Others meet it meanwhile, over SMB and REST.
import type { Answer, Operation } from '../history/call.ts'
import { bytesOf } from '../model/value.ts'
import { FILES, SLOT_BYTES, SLOTS, slotsOf } from './file.ts'
import { outcomeOf, type Chooser, type Kind, type Place, type Reply, type Request } from './kind.ts'

/** Nobody who may delete or write shares deletion. */
const OPENINGS = [
  { access: 'R', share: 'RW' },
  { access: 'R', share: 'R' },
  { access: 'R', share: 'RWD' },
  { access: 'RW', share: 'RW' },
  { access: 'W', share: 'R' },
  { access: 'RW', share: '' },
] as const
const DELETING = { access: 'RD', share: 'RW' } as const
const USES_MAX = 3

export const SMB_DIRECTORY: Kind = {
  name: 'directory',
  service: 'smb',
  choose: ({ random, newValue }) => {
    const handle = newValue(0)
    const base = { name: 'open', file: random.pick(FILES), handle, uses: random.below(USES_MAX + 1) }
    if (random.chance(0.25)) return { ...base, disposition: 'create', access: 'RW', share: random.pick(['', 'RW']) }
    return { ...base, disposition: 'open', ...(random.chance(0.25) ? DELETING : random.pick(OPENINGS)) }
  }, // prettier-ignore
  next: chooseNext,
  send: async (send, place, operation) =>
    answerOf(operation, await send(requestOf(place, operation))),
}

/** Without an answer, the connection has ended; then the server closes the file, nobody knows when. */
function chooseNext(chooser: Chooser, last: Operation, answer: Answer | undefined) {
  const { name, handle = '', uses = 0 } = last
  if (name === 'close' || (name === 'open' && answer !== undefined && answer.status >= 300))
    return undefined
  if (uses === 0 || answer === undefined) return { name: 'close', handle }
  return chooseUse(chooser, { handle, uses: uses - 1, access: last.access ?? '' })
}

type Using = { readonly handle: string; readonly uses: number; readonly access: string }

function chooseUse({ random, newValue }: Chooser, using: Using): Operation {
  const { access } = using
  if (access.includes('D') && random.chance(0.5)) {
    // What is deleted can be read until it is closed, and nothing else.
    if (random.chance(0.5)) return { ...using, name: 'remove', uses: 1, access: 'R' }
    return { ...using, name: 'move', to: random.pick(FILES) }
  }
  if (!access.includes('W') || (access.includes('R') && random.chance(0.4))) return { ...using, name: 'read' } // prettier-ignore
  const slot = random.below(SLOTS)
  return { ...using, name: 'write', slot, count: 1 + random.below(SLOTS - slot), value: newValue(SLOT_BYTES) } // prettier-ignore
}

function requestOf(place: Place, operation: Operation): Request {
  const { name, file = '', to = '', handle = '', access = '', share = '', disposition = '', slot = 0, count = 1, value = '' } = operation // prettier-ignore
  const base = { service: 'smb', path: `/${place.run}/${place.name}/${file}` } as const
  switch (name) {
    case 'open':
      return { ...base, method: 'OPEN', headers: { handle, access, share, disposition } }
    case 'read':
      return { ...base, method: 'READ', headers: { handle } }
    case 'write': {
      const body = Buffer.concat(Array.from({ length: count }, () => bytesOf(value)))
      return { ...base, method: 'WRITE', headers: { handle, offset: String(slot * SLOT_BYTES) }, body } // prettier-ignore
    }
    case 'move':
      return { ...base, method: 'RENAME', headers: { handle, to: `${place.name}/${to}` } }
    case 'remove':
      return { ...base, method: 'DELETE', headers: { handle } }
    default:
      return { ...base, method: 'CLOSE', headers: { handle } }
  }
}

function answerOf({ name }: Operation, reply: Reply): Answer {
  const outcome = outcomeOf(reply)
  return name === 'read' && outcome.status === 200
    ? { ...outcome, value: slotsOf(reply.body) }
    : outcome
}
