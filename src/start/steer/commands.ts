// The table of commands that show and steer a running server: what they ask, and how they show the answer.
import { resolve } from 'node:path'
import { usageError } from '../start-error.ts'
import type { SteerCall } from './client.ts'
import {
  showBarrier,
  showBarriers,
  showClock,
  showCopies,
  showFault,
  showFaults,
  showJournal,
  showLeases,
  showLocks,
  showMessages,
  showOpens,
  showRaces,
  showReset,
  showSnapshot,
  showSnapshots,
  showUncommitted,
  type Shown,
} from './lists.ts'
import type { SteerCommand, SteerName } from './names.ts'

export type Action = {
  /** The words behind the action, for people: `ID [CLIENT …]`. */
  readonly words: string
  call(words: readonly string[], command: SteerCommand): SteerCall
  readonly show: Shown
}

const DONE: Shown = () => ['done']

function get(path: string, show: Shown): Action {
  return { words: '', call: () => ({ method: 'GET', path }), show }
}

/** The flags of the command are the fields of the query. */
function filtered(path: string, show: Shown): Action {
  const call: Action['call'] = (_, { fields }) => ({
    method: 'GET',
    path,
    query: Object.fromEntries(fields),
  })
  return { words: '', call, show }
}

/** All of them. */
function remove(path: string): Action {
  return { words: '', call: () => ({ method: 'DELETE', path }), show: DONE }
}

function post(
  path: string,
  words: string,
  body: (words: readonly string[]) => unknown,
  show: Shown,
): Action {
  return { words, call: (given) => ({ method: 'POST', path, body: body(given) }), show }
}

/** The first word goes into the path. */
function at(
  method: 'POST' | 'DELETE',
  path: (name: string) => string,
  words: string,
  show: Shown,
): Action {
  return { words, call: ([name = '']) => ({ method, path: path(encodeURIComponent(name)) }), show }
}

/** By the name of the command and the word behind it; '' is the command alone. */
// prettier-ignore
export const ACTIONS: Readonly<Record<SteerName, Readonly<Record<string, Action>>>> = {
  journal: {
    '': filtered('journal', showJournal),
    clear: remove('journal'),
  },
  leases: {
    '': get('leases', showLeases),
    break: post('leases/break', 'RESOURCE [KIND]', ([resource, kind]) => ({ resource, kind }), DONE),
  },
  messages: {
    '': get('messages/invisible', showMessages),
    visible: post('messages/visible', 'ACCOUNT QUEUE MESSAGE', ([account, queue, messageId]) => ({ account, queue, messageId }), DONE),
  },
  opens: {
    '': get('opens', showOpens),
    close: at('DELETE', (id) => `opens/${id}`, 'ID', DONE),
  },
  locks: { '': get('locks', showLocks) },
  copies: { '': get('copies', showCopies) },
  uncommitted: { '': get('uncommitted', showUncommitted) },
  races: { '': filtered('races', showRaces) },
  clock: {
    '': get('clock', showClock),
    hold: post('clock', '', () => ({ hold: true }), showClock),
    advance: post('clock', 'PT60S', ([by = '']) => ({ advance: /^\d+$/.test(by) ? Number(by) : by }), showClock),
    set: post('clock', 'TIME', ([time]) => ({ set: time }), showClock),
    run: post('clock', '', () => ({ run: true }), showClock),
  },
  barriers: {
    '': get('barriers', showBarriers),
    hold: post('barriers', 'JSON', ([rule]) => decodeRule(rule, '{"at":"checked","match":{"operation":"Put Blob"}}'), showBarrier),
    release: { words: 'ID [CLIENT …]', show: showBarrier,
      call: ([id = '', ...clients]) => ({ method: 'POST', path: `barriers/${encodeURIComponent(id)}/release`, body: { clients } }) },
    held: { words: 'ID [COUNT]', show: showBarrier,
      call: ([id = '', count = '1']) => ({ method: 'GET', path: `barriers/${encodeURIComponent(id)}`, query: { held: count } }) },
    remove: at('DELETE', (id) => `barriers/${id}`, 'ID', DONE),
    clear: remove('barriers'),
  },
  faults: {
    '': get('faults', showFaults),
    add: post('faults', 'JSON', ([rule]) => decodeRule(rule, '{"match":{"operation":"Put Blob"},"effect":{"status":503},"times":1}'), showFault),
    remove: at('DELETE', (id) => `faults/${id}`, 'ID', DONE),
    clear: remove('faults'),
  },
  snapshots: {
    '': get('snapshots', showSnapshots),
    save: at('POST', (name) => `snapshots/${name}`, 'NAME', showSnapshot),
    restore: at('POST', (name) => `snapshots/${name}/restore`, 'NAME', DONE),
    delete: at('DELETE', (name) => `snapshots/${name}`, 'NAME', DONE),
  },
  reset: { '': { words: '', call: (_, { fields }) => ({ method: 'POST', path: 'reset', body: Object.fromEntries(fields) }), show: showReset } },
  seed: { '': folderAction('seed') },
  export: { '': folderAction('export') },
}

/** The server reads and writes its own disk, so this is for servers on the same machine. */
function folderAction(path: string): Action {
  const call: Action['call'] = ([folder = ''], { cwd }) => ({
    method: 'POST',
    path,
    body: { folder: resolve(cwd, folder) },
  })
  return { words: 'FOLDER', call, show: DONE }
}

function decodeRule(text: string = '', example: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw usageError(`the rule is not valid JSON; an example: '${example}'`)
  }
}

export type FoundAction = { readonly action: Action; readonly words: readonly string[] }

export function findAction({ name, words: [first, ...rest] }: SteerCommand): FoundAction {
  const actions = ACTIONS[name]
  const named = first !== undefined && Object.hasOwn(actions, first) ? actions[first] : undefined
  const action = named ?? actions['']
  const words = named !== undefined || first === undefined ? rest : [first, ...rest]
  if (action === undefined) throw usageError(usageOf(name))
  const wanted = action.words.split(' ').filter((word) => /^[A-Z]/.test(word)).length
  const most = action.words.includes('…')
    ? Infinity
    : wanted + (/\[[A-Z]/.test(action.words) ? 1 : 0)
  if (words.length < wanted || words.length > most) throw usageError(usageOf(name))
  return { action, words }
}

/** Which words a command takes: `expected lazuli clock, lazuli clock hold, …`. */
function usageOf(name: SteerName): string {
  return `expected ${formsOf(name)
    .map((form) => `lazuli ${form}`)
    .join(', ')}`
}

/** Each form of a command, without `lazuli`. */
export function formsOf(name: SteerName): readonly string[] {
  return Object.entries(ACTIONS[name]).map(([action, { words }]) =>
    [name, action, words].filter((word) => word !== '').join(' '),
  )
}
