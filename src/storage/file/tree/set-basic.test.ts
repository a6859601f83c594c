// FileBasicInformation: [MS-FSCC] 2.4.7 and [MS-FSA] 2.1.5.15.2.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StorageError } from '../../shared/error.ts'
import { ARCHIVE, DIRECTORY, HIDDEN, NORMAL, READ_ONLY } from './attributes.ts'
import {
  EXAMPLE_MOMENT,
  requireExampleNode,
  createExampleNode,
  openExampleShare,
} from '../example.ts'
import { fileTimeOf } from './file-time.ts'
import { attributesAfter, frozenAfter, setBasic, type BasicChange } from './set-basic.ts'

const TEMPORARY = 0x100

// prettier-ignore
const ATTRIBUTES: readonly (readonly [kind: 'file' | 'directory', before: number, change: number, after: number | 'InvalidInput'])[] = [
  ['file',      HIDDEN, 0,                  HIDDEN],
  ['file',      HIDDEN, NORMAL,             0],
  ['file',      HIDDEN, READ_ONLY | NORMAL, READ_ONLY],
  ['file',      0,      ARCHIVE | HIDDEN,   ARCHIVE | HIDDEN],
  ['file',      0,      TEMPORARY,          TEMPORARY],
  ['file',      0,      DIRECTORY,          'InvalidInput'],
  ['directory', 0,      DIRECTORY | HIDDEN, HIDDEN],
  ['directory', 0,      TEMPORARY,          'InvalidInput'],
]

for (const [kind, attributes, change, after] of ATTRIBUTES) {
  test(`a ${kind} with attributes ${attributes} set to ${change}: ${after}`, () => {
    const set = () => attributesAfter({ kind, attributes }, change)
    if (after !== 'InvalidInput') return assert.equal(set(), after)
    assert.throws(set, (error) => error instanceof StorageError && error.code === after)
  })
}

const LEAVE: BasicChange = {
  creationTime: 'leave',
  lastAccessTime: 'leave',
  lastWriteTime: 'leave',
  changeTime: 'leave',
  attributes: 0,
}

// prettier-ignore
const FROZEN: readonly (readonly [was: boolean, time: BasicChange['lastWriteTime'], is: boolean])[] = [
  [false, 'leave',  false],
  [true,  'leave',  true],
  [false, 'freeze', true],
  [true,  'resume', false],
  [false, '5',      true],
]

for (const [was, time, is] of FROZEN) {
  test(`a ${was ? 'frozen' : 'normal'} time set to ${time} is ${is ? 'frozen' : 'normal'}`, () => {
    const write = frozenAfter({ lastWrite: was }, { ...LEAVE, lastWriteTime: time })
    assert.deepEqual(write, { lastWrite: is, change: false })
    const change = frozenAfter({ change: was }, { ...LEAVE, changeTime: time })
    assert.deepEqual(change, { lastWrite: false, change: is })
  })
}

const OLD = fileTimeOf(EXAMPLE_MOMENT.nowMs)
const LATER = { nowMs: 5_000, stamp: 5_120_000 }
const NOW = fileTimeOf(LATER.nowMs)

// prettier-ignore
const TIMES: readonly (readonly [what: string, change: Partial<BasicChange>, lastWriteTime: string, changeTime: string])[] = [
  ['nothing',                       {},                                      OLD, NOW],
  ['a write time',                  { lastWriteTime: '7' },                  '7', NOW],
  ['a change time',                 { changeTime: '9' },                     OLD, '9'],
  ['the change time to freeze',     { changeTime: 'freeze' },                OLD, OLD],
  ['the change time to resume',     { changeTime: 'resume' },                OLD, OLD],
  ['only attributes',               { attributes: HIDDEN },                  OLD, NOW],
]

for (const [what, change, lastWriteTime, changeTime] of TIMES) {
  test(`setting ${what} updates the right times`, async () => {
    const kv = await openExampleShare()
    const node = await kv.write(function* (tx) {
      yield* createExampleNode(tx, 'f', 'file', 5)
      const basic = { ...LEAVE, ...change }
      return yield* setBasic(
        tx,
        yield* requireExampleNode(tx, 'f'),
        basic,
        frozenAfter({}, basic),
        LATER,
      )
    })
    assert.deepEqual(
      [node.creationTime, node.lastWriteTime, node.changeTime],
      [OLD, lastWriteTime, changeTime],
    )
  })
}
