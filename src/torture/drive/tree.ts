// What clients do to a directory of Data Lake Storage: files are created, appended to and read, and paths are moved and deleted,
// whole directories too, also into each other.
import type { Answer, Operation } from '../history/call.ts'
import { bytesOf, contentOf } from '../model/value.ts'
import {
  chooseCondition,
  conditionHeaders,
  outcomeOf,
  taggedOutcomeOf,
  type Chooser,
  type Kind,
  type Memory,
  type Place,
  type Reply,
  type Request,
} from './kind.ts'

const DIRECTORIES = ['a', 'b', 'a/b', 'b/a'] as const
const FILES = ['a/f', 'b/f', 'a/b/f', 'b/a/f'] as const
const LENGTHS = [16, 64, 9_000]

export const TREE: Kind = {
  name: 'tree',
  service: 'dfs',
  choose: (chooser) => {
    const { random } = chooser
    const name = random.weighted({ get: 20, append: 22, create: 14, mkdir: 6, list: 12, rename: 12, move: 8, delete: 5, remove: 3 }) // prettier-ignore
    switch (name) {
      case 'list':
        return { name }
      case 'rename':
        return chooseRename(chooser, FILES)
      case 'move':
        return chooseRename(chooser, DIRECTORIES)
      case 'mkdir':
        return { name, file: random.pick(DIRECTORIES), condition: { none: '*' } }
      case 'remove':
        return { name, file: random.pick(DIRECTORIES), recursive: random.chance(0.6) }
      default:
        return chooseOfFile(chooser, name)
    }
  },
  send: async (send, place, operation) =>
    answerOf(operation, await send(treeRequest(place, operation))),
  remember: rememberFile,
}

function chooseRename({ random }: Chooser, paths: readonly string[]): Operation {
  const file = random.pick(paths)
  const to = random.pick(paths.filter((each) => each !== file))
  return { name: 'rename', file, to, ...(random.chance(0.4) && { condition: { none: '*' } }) }
}

/** ETags and lengths are those of the file on which the client works. */
function chooseOfFile(chooser: Chooser, name: string): Operation {
  const { random, memory, newValue } = chooser
  const known = memory.etags.get('file')
  const file = known !== undefined && random.chance(0.6) ? known : random.pick(FILES)
  const own = { random, memory: file === known ? memory : { ...memory }, newValue }
  if (file !== known) delete own.memory.etag
  const { condition } = random.chance(0.5) ? chooseCondition(own) : {}
  const guard = condition?.none === undefined || name === 'create' ? condition : undefined
  const base = { name, file, ...(guard !== undefined && { condition: guard }) }
  if (name !== 'append') return base
  const position = file === known ? (memory.offset ?? 0) : 0
  return { ...base, position, value: newValue(random.pick(LENGTHS)) }
}

function rememberFile(memory: Memory, operation: Operation, answer: Answer): void {
  const { name, file = '', position = 0, value = '' } = operation
  if (answer.etag === undefined || name === 'rename' || name === 'mkdir') return
  memory.etags.set('file', file)
  memory.etag = answer.etag
  memory.offset = position + bytesOf(name === 'append' ? value : (answer.value ?? '')).length
}

function treeRequest(place: Place, operation: Operation): Request {
  const { name, file = '', to = '', recursive, position = 0, value = '' } = operation
  const root = `/${place.run}/${place.name}`
  const base = { service: 'dfs', path: `${root}/${file}`, headers: conditionHeaders(operation) } as const // prettier-ignore
  switch (name) {
    case 'list':
      return { service: 'dfs', method: 'GET', path: `/${place.run}?resource=filesystem&recursive=true&directory=${place.name}` } // prettier-ignore
    case 'get':
      return { ...base, method: 'GET' }
    case 'create':
      return { ...base, method: 'PUT', path: `${base.path}?resource=file` }
    case 'mkdir':
      return { ...base, method: 'PUT', path: `${base.path}?resource=directory` }
    case 'append': {
      const path = `${base.path}?action=append&position=${position}&flush=true`
      return { ...base, method: 'PATCH', path, body: bytesOf(value) }
    }
    case 'rename':
      return { ...base, method: 'PUT', path: `${root}/${to}?mode=legacy`, headers: { ...base.headers, 'x-ms-rename-source': `${root}/${file}` } } // prettier-ignore
    default: {
      const query = name === 'remove' ? `?recursive=${recursive === true}` : ''
      return { ...base, method: 'DELETE', path: base.path + query }
    }
  }
}

function answerOf({ name }: Operation, reply: Reply): Answer {
  if (name === 'delete' || name === 'remove') return outcomeOf(reply)
  const outcome = taggedOutcomeOf(reply)
  if (outcome.status >= 300) return outcome
  if (name === 'get') return { ...outcome, value: contentOf(reply.body) }
  if (name !== 'list') return outcome
  const { paths } = JSON.parse(reply.body.toString()) as { paths: readonly { name: string }[] }
  // Below the directory of the object.
  const names = paths.map((path) => path.name.slice(path.name.indexOf('/') + 1))
  return { status: outcome.status, names: names.sort().join(' ') }
}
