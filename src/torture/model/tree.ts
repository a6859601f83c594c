// One directory of Data Lake Storage with all that is below it. A rename moves a whole tree at once and a directory never comes to be
// in itself; a deletion removes one at once.
import type { Answer, Operation } from '../history/call.ts'
import { conditionViews, retagged, revealed, tagOf } from './condition.ts'
import { refusal, WRONG, type Model, type Outcome, type Refused } from './model.ts'
import { lengthOf, listOf } from './value.ts'

/** A directory has no content. */
type Path = { readonly etag?: string; readonly content?: string }

export type TreeState = Readonly<Record<string, Path>>

const NOT_FOUND: Refused = [404, 'PathNotFound']
const EXISTS: Refused = [409, 'PathAlreadyExists']
const UNMET: Refused = [412, 'ConditionNotMet']

export function treeModel(): Model<TreeState> {
  return {
    initial: {},
    reads: new Set(['get', 'list']),
    outcomes: (state, operation) => {
      switch (operation.name) {
        case 'list':
          return [list(state)]
        case 'create':
        case 'mkdir':
          return create(state, operation)
        case 'rename':
          return rename(state, operation)
        case 'get':
        case 'append':
        case 'delete':
        case 'remove':
          return change(state, operation)
        default:
          return []
      }
    },
  }
}

function list(state: TreeState): Outcome<TreeState> {
  const names = Object.keys(state).sort().join(' ')
  return { status: 200, shows: { names }, next: () => state }
}

/** The directories above it come with it. */
function create(state: TreeState, operation: Operation): readonly Outcome<TreeState>[] {
  const { file = '', name, condition } = operation
  const made = (answer: Answer | undefined, current?: Path): TreeState | typeof WRONG => {
    const path = retagged(current, name === 'mkdir' ? {} : { content: '' }, answer)
    return path === WRONG ? WRONG : sorted({ ...withParents(state, file), [file]: path })
  }
  const current = state[file]
  if (current === undefined) {
    if (condition?.match !== undefined) return [refusal(state, UNMET)]
    return [{ status: 201, next: (answer) => made(answer) }]
  }
  return conditionViews(current, condition).map(({ current: seen, fails }) => {
    const known = { ...state, [file]: seen }
    if (fails !== undefined) return refusal(known, condition?.none === '*' ? EXISTS : UNMET)
    return { status: 201, next: (answer) => made(answer, seen) }
  })
}

const STATUS: Readonly<Record<string, number>> = { get: 200, append: 202, delete: 200, remove: 200 } // prettier-ignore

function change(state: TreeState, operation: Operation): readonly Outcome<TreeState>[] {
  const { file = '', name, condition, recursive } = operation
  const path = state[file]
  if (path === undefined) return [refusal(state, NOT_FOUND)]
  return conditionViews(path, condition).flatMap(({ current, fails }) => {
    const known = { ...state, [file]: current }
    const isFull = name === 'remove' && recursive !== true && childrenOf(state, file).length > 0
    const reasons = [fails && UNMET, isFull ? ([409, 'DirectoryNotEmpty'] as const) : undefined, misplaced(current, operation)] // prettier-ignore
    const given = reasons.filter((each) => each !== undefined)
    if (given.length > 0) return given.map((each) => refusal(known, each))
    const shows = name === 'get' ? { ...tagOf(current), value: current.content ?? '' } : {}
    return [{ status: STATUS[name] ?? 0, shows, next: (answer) => changed(known, current, operation, answer) }] // prettier-ignore
  })
}

function misplaced({ content = '' }: Path, { name, position = 0 }: Operation): Refused | undefined {
  const isAtEnd = position === lengthOf(content)
  return name !== 'append' || isAtEnd ? undefined : [400, 'InvalidFlushPosition']
}

function changed(
  state: TreeState,
  current: Path,
  { file = '', name, value = '' }: Operation,
  answer: Answer | undefined,
): TreeState | typeof WRONG {
  if (name === 'delete' || name === 'remove') return without(state, file)
  const { content = '' } = current
  const path =
    name === 'append'
      ? retagged(current, { content: [...listOf(content), value].join(' ') }, answer)
      : revealed(current, answer)
  return path === WRONG ? WRONG : { ...state, [file]: path }
}

function rename(state: TreeState, operation: Operation): readonly Outcome<TreeState>[] {
  const { file = '', to = '', condition } = operation
  const parent = to.slice(0, Math.max(0, to.lastIndexOf('/')))
  const reasons: Refused[] = []
  if (state[file] === undefined) reasons.push([404, 'SourcePathNotFound'])
  if (to.startsWith(`${file}/`)) reasons.push([409, 'InvalidRenameSourcePath'])
  if (parent !== '' && state[parent] === undefined) reasons.push([404, 'RenameDestinationParentPathNotFound']) // prettier-ignore
  const isTaken = state[to] !== undefined && condition?.none === '*'
  if (isTaken || childrenOf(state, to).length > 0) reasons.push(EXISTS)
  if (reasons.length > 0) return reasons.map((each) => refusal(state, each))
  return [{ status: 201, next: () => moved(state, file, to) }]
}

function moved(state: TreeState, from: string, to: string): TreeState {
  const rest = Object.entries(without(without(state, from), to))
  const tree = Object.entries(state)
    .filter(([name]) => isWithin(name, from))
    .map(([name, path]) => [to + name.slice(from.length), path] as const)
  return sorted(Object.fromEntries([...rest, ...tree]))
}

function isWithin(name: string, directory: string): boolean {
  return name === directory || name.startsWith(`${directory}/`)
}

function childrenOf(state: TreeState, directory: string): readonly string[] {
  return Object.keys(state).filter((name) => name !== directory && isWithin(name, directory))
}

function without(state: TreeState, removed: string): TreeState {
  return Object.fromEntries(Object.entries(state).filter(([name]) => !isWithin(name, removed)))
}

function withParents(state: TreeState, file: string): TreeState {
  const parts = file.split('/').slice(0, -1)
  const parents = parts.map((_, at) => parts.slice(0, at + 1).join('/'))
  return { ...Object.fromEntries(parents.map((name) => [name, {}])), ...state }
}

function sorted(state: TreeState): TreeState {
  return Object.fromEntries(Object.entries(state).sort(([a], [b]) => (a < b ? -1 : 1)))
}
