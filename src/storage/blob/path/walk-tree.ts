// A walk over the paths of a tree, each directory before what is below it. The names of a directory are in ordinal order, so
// the whole is in the order of the paths' names, not of their characters: `a/b` comes before `a.b`, as in the service.
import { lastKeyString } from '../../../kv/key.ts'
import { keyAfter, prefixRange, type Key, type ReadTx, type Step } from '../../../kv/kv.ts'
import { decodeRecord, type StoredRecord } from '../../../kv/record.ts'
import { openCursor, type Cursor } from '../../shared/cursor.ts'
import { pathEntryKey, pathEntryKeyPrefix } from '../keys.ts'
import { getPathEntry } from './locate.ts'
import type { PathEntry } from './path-state.ts'

export type TreeWalk = {
  readonly spaceId: number
  readonly directoryId: string
  /** The path of the directory, with a slash at its end if it isn't empty. */
  readonly path: string
  /** Of the names in the directory itself. */
  readonly namePrefix: string
  readonly isRecursive: boolean
  /** How many paths will probably be visited. */
  readonly expectedCount: number
}

/** Where the walk starts, below its directory. `skips`: behind the path and everything below it; `includes`: with it. */
export type WalkStart = {
  readonly names: readonly string[]
  readonly mode: 'follows' | 'skips' | 'includes'
}

export type WalkedPath = { readonly path: string; readonly entry: PathEntry }

type NamedEntry = { readonly name: string; readonly entry: PathEntry }

type Level = { readonly path: string; readonly cursor: Cursor<NamedEntry> }

export class TreeWalker {
  readonly #tx: ReadTx
  readonly #walk: TreeWalk
  readonly #levels: Level[] = []
  #next: WalkedPath | undefined
  #expectedCount: number

  constructor(tx: ReadTx, walk: TreeWalk) {
    this.#tx = tx
    this.#walk = walk
    this.#expectedCount = walk.expectedCount
  }

  *open(start?: WalkStart): Step<void> {
    const { directoryId, path, namePrefix } = this.#walk
    this.#push(directoryId, path, namePrefix)
    if (start !== undefined) yield* this.#seek(start)
  }

  /** Opens the directories of the path that still exist. */
  *#seek({ names, mode }: WalkStart): Step<void> {
    const { spaceId, isRecursive, namePrefix } = this.#walk
    let directoryId = this.#walk.directoryId
    for (const [at, name] of names.entries()) {
      const level = this.#levels.at(-1)
      if (level === undefined) return
      const key = pathEntryKey(spaceId, directoryId, name)
      const isLast = at === names.length - 1
      if (isLast && mode === 'includes') return level.cursor.seek(key)
      level.cursor.seek(keyAfter(key))
      if (!isRecursive || (isLast && mode === 'skips')) return
      if (at === 0 && !name.startsWith(namePrefix)) return
      const entry = yield* getPathEntry(this.#tx, this.#walk, directoryId, name)
      if (entry?.isDirectory !== true) return
      directoryId = entry.id
      this.#push(directoryId, `${level.path}${name}/`, '')
    }
  }

  #push(directoryId: string, path: string, namePrefix: string): void {
    const { spaceId } = this.#walk
    const nameAt = pathEntryKeyPrefix(spaceId, directoryId, '').length - 1
    const pick = (key: Key, value: StoredRecord): NamedEntry => {
      return { name: lastKeyString(key, nameAt), entry: decodeRecord<PathEntry>(value) }
    }
    const range = prefixRange(pathEntryKeyPrefix(spaceId, directoryId, namePrefix))
    const cursor = openCursor(this.#tx, range, pick, this.#expectedCount)
    this.#levels.push({ path, cursor })
  }

  *peek(): Step<WalkedPath | undefined> {
    while (this.peekRead() === undefined) {
      const level = this.#levels.at(-1)
      if (level === undefined) return undefined
      if ((yield* level.cursor.peek()) === undefined) this.#levels.pop()
    }
    return this.#next
  }

  /** What `peek` finds without reading more: most paths of a long walk. */
  peekRead(): WalkedPath | undefined {
    if (this.#next !== undefined) return this.#next
    const level = this.#levels.at(-1)
    const found = level?.cursor.peekRead()
    if (level === undefined || found === undefined) return undefined
    level.cursor.advance()
    this.#expectedCount -= 1
    const { name, entry } = found
    const path = `${level.path}${name}`
    this.#next = { path, entry }
    if (entry.isDirectory === true && this.#walk.isRecursive) this.#push(entry.id, `${path}/`, '')
    return this.#next
  }

  advance(): void {
    this.#next = undefined
  }
}
