// A race of the journal as a test: a program that starts a server, sends the same requests, and lets them end in the same
// order. It needs nothing but Lazuli and Node.
import type { RaceKind } from '../../api.ts'
import { ControlError } from '../../control-error.ts'
import { resourceOf } from '../../entry.ts'
import type { Journal } from '../../journal.ts'
import { sentLeaseId, sentRange, type ClientAct } from '../act.ts'
import { effectOf } from '../effect.ts'
import type { Finding } from '../finding.ts'
import { findRaces } from '../race.ts'
import { callText, comment, quoted } from './code.ts'
import { PROGRAM_END, PROGRAM_START } from './program.ts'
import { replayOf, resultName, type Story } from './replay.ts'
import { SET_UP, setUpOf } from './set-up.ts'

/** A race is named by its kind and the last of its entries. */
export type RaceKey = { readonly kind: RaceKind; readonly entry: number }

export function raceTest(journal: Journal, { kind, entry }: RaceKey): string {
  const found = findRaces(journal.entries(), journal.clientBy).find(
    (race) => race.kind === kind && race.acts.at(-1)?.entry.id === entry,
  )
  if (found === undefined)
    throw new ControlError(`the journal has no ${kind} that ends with entry ${entry}`)
  return textOfTest(found)
}

/** Above it, the content of the test would be longer than that of any sensible test. */
const CONTENT_MAX = 8 * 1024 * 1024

function textOfTest(race: Finding): string {
  const acts = race.acts.toSorted((a, b) => a.entry.id - b.entry.id)
  const lasts = acts.map(({ entry }) => sentRange(entry)?.last ?? 0).filter(Number.isFinite)
  const lengthBytes = Math.max(0, ...lasts.map((last) => last + 1))
  if (lengthBytes > CONTENT_MAX)
    throw new ControlError("this race can't be made a test: its ranges are too far into the object")
  const story: Story = { acts, names: namesOf(acts), lengthBytes }
  const [last] = acts.slice(-1)
  const title = `${race.kind}: ${last === undefined ? '' : resourceOf(last.entry)}`
  const body = [
    '// What was there before.',
    ...setUpOf(acts, lengthBytes).map((call) => `await ${callText(call, INDENT)}`),
    ...storyLines(story),
    '',
    `assert(server.races().some(({ kind }) => kind === ${quoted(race.kind)}), 'the race did not happen')`,
    '// Once the program does what the explanation says, this holds instead:',
    '// await server.expectNoRaces()',
  ]
  return [
    ...comment(`${race.kind}: ${race.explanation}`),
    PROGRAM_START,
    `test(${quoted(title)}, async () => {`,
    "  await using server = await startServer({ clock: 'held' })",
    '  const send = sendTo(server)',
    '',
    ...body.map((line) => (line === '' ? '' : `  ${line}`)),
    '})',
    PROGRAM_END,
  ].join('\n')
}

/** A header can't have all letters. */
function namesOf(acts: readonly ClientAct[]): ReadonlyMap<string, string> {
  const clients = [...new Set(acts.map(({ client }) => client))]
  const isPlain = (name: string): boolean => /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(name) && name !== SET_UP // prettier-ignore
  return new Map(
    clients.map((client, at) => [client, isPlain(client) ? client : `client ${at + 1}`]),
  )
}

function storyLines(story: Story): readonly string[] {
  const { acts } = story
  const pair = isPair(acts) ? acts.length - 2 : acts.length
  const replays = acts.map((_, at) => replayOf(story, at))
  const texts = replays.map(({ call }) => callText(call, INDENT))
  const isUsed = (at: number): boolean => texts.some((text) => text.includes(resultName(at)))
  const lines: string[] = []
  for (const [at, act] of acts.slice(0, pair).entries()) {
    const { before = [] } = replays[at] ?? {}
    lines.push('', ...comment(`${at + 1}. ${storyOf(story, act)}`), ...passTime(acts, at))
    lines.push(...before.map((call) => `await ${callText(call, INDENT)}`))
    lines.push(`${isUsed(at) ? `const ${resultName(at)} = ` : ''}await ${texts[at]}`)
  }
  return pair < acts.length ? [...lines, ...pairLines(story, replays, pair)] : lines
}

/** The last two are writes of two clients that could have been under way at the same time. */
function isPair(acts: readonly ClientAct[]): boolean {
  const [a, b] = acts.slice(-2)
  if (a === undefined || b === undefined || a.client === b.client) return false
  const areWrites = [a, b].every(({ entry }) => entry.errorCode === undefined && effectOf(entry))
  // A lease that one of them has would refuse the other.
  const areFree = [a, b].every((act) => sentLeaseId(act.entry) === undefined)
  return areWrites && areFree && b.entry.startedMs - a.entry.startedMs < PASSED_MS_MIN
}

function pairLines(
  story: Story,
  replays: readonly ReturnType<typeof replayOf>[],
  at: number,
): readonly string[] {
  const [first, second] = story.acts.slice(at)
  const [one, two] = replays.slice(at)
  if (first === undefined || second === undefined || one === undefined || two === undefined)
    return []
  const before = [...one.before, ...two.before].map((call) => `await ${callText(call, INDENT)}`)
  const order = `${quoted(one.call.client)}, ${quoted(two.call.client)}`
  return [
    '',
    ...comment(`${at + 1}. ${storyOf(story, first)}`),
    ...comment(`${at + 2}. ${storyOf(story, second)}`),
    ...passTime(story.acts, at),
    ...before,
    '// Both are on their way; the barrier lets the first one end before the second goes on.',
    `const match = { service: ${quoted(one.call.service)} }`,
    "const barrier = server.barriers.hold({ at: 'checked', match, count: 2 })",
    'const both = [',
    `  ${callText(one.call, INDENT + '  ')},`,
    `  ${callText(two.call, INDENT + '  ')},`,
    ']',
    'await barrier.held(2)',
    `await barrier.release(${order})`,
    'await Promise.all(both)',
    'barrier.remove()',
  ]
}

function storyOf({ names }: Story, { client, entry }: ClientAct): string {
  const outcome = entry.errorCode === undefined ? '' : ` is refused with ${entry.errorCode}`
  return `${names.get(client)}: ${entry.operation}${outcome}`
}

/** Of what is in the test. */
const INDENT = '  '

const PASSED_MS_MIN = 1_000

/** The time of the server stands still unless the test moves it. */
function passTime(acts: readonly ClientAct[], at: number): readonly string[] {
  const [before, now] = [acts[at - 1], acts[at]]
  if (before === undefined || now === undefined) return []
  const passedMs = now.entry.startedMs - before.entry.startedMs
  return passedMs < PASSED_MS_MIN ? [] : [`await server.clock.advance(${passedMs})`]
}
