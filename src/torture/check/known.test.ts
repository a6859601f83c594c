// Histories whose verdict is known: for each kind, one that an order explains and one that none does.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Answer, Call, History, Operation } from '../history/call.ts'
import { checkHistory } from './check.ts'

type Line = readonly [began: number, ended: number, operation: Operation, answer?: Answer]

const HEAD = { seed: 0, clients: 3, slackMs: 0, services: ['blob'], faults: false }

function history(object: string, lines: readonly Line[]): History {
  const calls = lines.map(([began, ended, operation, answer], at): Call => {
    const told = answer === undefined ? { failure: 'ECONNRESET' } : { answer }
    return { number: at + 1, client: at + 1, object, operation, began, ended, ...told }
  })
  return { head: HEAD, calls }
}

const put = (value: string, more: Partial<Operation> = {}): Operation => ({ name: 'put', value, ...more }) // prettier-ignore
const get: Operation = { name: 'get' }
const made = (etag: string): Answer => ({ status: 201, etag })
const got = (etag: string, value: string): Answer => ({ status: 200, etag, value, metadata: '' })
const refused = (status: number, code: string): Answer => ({ status, code })
const acquire = (id: string, seconds = -1): Operation => ({ name: 'acquire', id, seconds })
const held = (id: string): Answer => ({ status: 201, id })
const row = (name: string, value: string): Operation => ({ name, row: 'r', properties: { A: value } }) // prettier-ignore
const deliver = (receipt: string, count: number): Answer => ({
  status: 200,
  messages: [{ id: 'm', receipt, count, text: 'a/' }],
})
const SEND: Line = [0, 1, { name: 'put', message: 'a', seconds: 0 }, { status: 201, id: 'm', receipt: 'r0' }] // prettier-ignore
const receive = (seconds: number): Operation => ({ name: 'get', count: 1, seconds })
const ack = (receipt: string): Operation => ({ name: 'delete', message: 'a', id: 'm', receipt })
const file = (name: string, more: Partial<Operation> = {}): Operation => ({ name, file: 'f', ...more }) // prettier-ignore
const create = file('create', { slots: 2 })
const open = (handle: string, access: string, share: string, disposition = 'open'): Operation => ({ name: 'open', file: 'f', handle, access, share, disposition }) // prettier-ignore
const use = (name: string, handle: string, more: Partial<Operation> = {}): Operation => ({ name, handle, ...more }) // prettier-ignore
const DONE: Answer = { status: 200 }
const make = (path: string): Operation => ({ name: 'create', file: path })
const move = (path: string, to: string): Operation => ({ name: 'rename', file: path, to })
const LIST: Operation = { name: 'list' }
const listed = (names: string): Answer => ({ status: 200, names })

// prettier-ignore
const GOOD: readonly [string, string, readonly Line[]][] = [
  ['a read during a write sees either state', 'block/b', [[0, 1, put('1'), made('e1')], [2, 6, put('2'), made('e2')], [3, 4, get, got('e2', '2')], [3, 7, get, got('e1', '1')]]],
  ['a write without an answer was made later', 'block/b', [[0, 1, put('1'), made('e1')], [2, 3, put('2')], [4, 5, get, got('e1', '1')], [6, 7, get, got('e2', '2')]]],
  ['a write without an answer was never made', 'block/b', [[0, 1, put('1'), made('e1')], [2, 3, put('2')], [4, 5, get, got('e1', '1')]]],
  ['one of two conditional writes is refused', 'block/b', [[0, 1, put('1'), made('e1')], [2, 5, put('2', { condition: { match: 'e1' } }), made('e2')], [2, 5, put('3', { condition: { match: 'e1' } }), refused(412, 'ConditionNotMet')]]],
  ['a lease ends some time around its end', 'block/b', [[0, 1, put('1'), made('e1')], [2, 3, acquire('x', 15), held('x')], [10, 11, put('2'), refused(412, 'LeaseIdMissing')], [15_002, 15_003, put('3'), made('e3')]]],
  ['a block list takes blocks of several clients', 'block/b', [[0, 1, { name: 'putBlock', block: 'a', value: '1' }, { status: 201 }], [0, 1, { name: 'putBlock', block: 'b', value: '2' }, { status: 201 }], [2, 3, { name: 'putBlockList', blocks: ['b', 'a'] }, made('e1')], [4, 5, get, got('e1', '2 1')]]],
  ['appends in the order of their offsets', 'append/a', [[0, 1, put(''), made('e1')], [2, 9, { name: 'append', value: 'x.1.16' }, { status: 201, etag: 'e3', offset: 32, count: 2 }], [2, 8, { name: 'append', value: 'y.1.32' }, { status: 201, etag: 'e2', offset: 0, count: 1 }]]],
  ['a container name is free after a deletion, or not yet', 'container/c', [[0, 1, { name: 'create' }, made('e1')], [2, 3, { name: 'delete' }, { status: 202 }], [4, 5, { name: 'create' }, refused(409, 'ContainerBeingDeleted')], [6, 7, { name: 'create' }, made('e2')]]],
  ['a message is delivered again once it is visible', 'queue/q', [SEND, [2, 3, receive(1), deliver('r1', 1)], [1_004, 1_005, receive(1), deliver('r2', 2)], [1_006, 1_007, ack('r1'), refused(404, 'MessageNotFound')], [1_008, 1_009, ack('r2'), { status: 204 }]]],
  ['a get without an answer has hidden a message', 'queue/q', [SEND, [2, 3, receive(1)], [9_000, 9_001, receive(1), deliver('r2', 2)]]],
  ['a batch is seen whole', 'partition/p', [[0, 5, { name: 'batch', operations: [{ name: 'insert', row: 'a', properties: { A: '1' } }, { name: 'insert', row: 'b', properties: { A: '1' } }] }, { status: 202, answers: [made('e1'), made('e2')] }], [1, 2, { name: 'query' }, { status: 200, rows: {} }], [3, 4, { name: 'query' }, { status: 200, rows: { a: { etag: 'e1', properties: { A: '1' } }, b: { etag: 'e2', properties: { A: '1' } } } }]]],
  ['a merge keeps the other properties', 'partition/p', [[0, 1, row('insert', '1'), made('e1')], [2, 3, { name: 'update', row: 'r', merges: true, properties: { B: '2' }, condition: { match: 'e1' } }, { status: 204, etag: 'e2' }], [4, 5, { name: 'get', row: 'r' }, { status: 200, etag: 'e2', properties: { A: '1', B: '2' } }]]],
  ['a rename replaces a file at once', 'directory/d', [[0, 1, create, made('e1')], [2, 3, { ...create, file: 'g' }, made('e2')], [4, 5, { ...file('rename'), to: 'g', replaces: true }, { status: 200 }], [6, 7, { name: 'list' }, { status: 200, names: 'g' }]]],
  ['an open keeps others out until it is closed', 'directory/d', [[0, 1, create, made('e1')], [2, 3, open('h', 'RW', ''), DONE], [4, 5, file('get'), refused(409, 'SharingViolation')], [6, 7, use('close', 'h'), DONE], [8, 9, file('get'), { status: 200, etag: 'e2', value: '0 0' }]]],
  ['an open whose connection was lost ends some time', 'directory/d', [[0, 1, create, made('e1')], [2, 3, open('h', 'W', 'R')], [4, 5, use('close', 'h')], [6, 7, file('putRange', { slot: 0, count: 1, value: '1' }), refused(409, 'SharingViolation')], [8, 9, file('putRange', { slot: 0, count: 1, value: '1' }), made('e2')]]],
  ['a refused write leaves a broken lease', 'directory/d', [[0, 1, create, made('e1')], [2, 3, { ...acquire('x'), file: 'f' }, held('x')], [4, 5, file('break'), { status: 202 }], [6, 7, file('putRange', { slot: 5, count: 1, value: '1' }), refused(416, 'InvalidRange')], [8, 9, file('get', { lease: 'x' }), refused(412, 'LeaseLost')]]],
  ['a rename makes a file forget a broken lease', 'directory/d', [[0, 1, create, made('e1')], [2, 3, { ...acquire('x'), file: 'f' }, held('x')], [4, 5, file('break'), { status: 202 }], [6, 7, { ...file('rename'), to: 'g' }, { status: 200 }], [8, 9, { ...file('get', { lease: 'x' }), file: 'g' }, refused(412, 'LeaseNotPresentWithFileOperation')]]],
  ['a file that is deleted over SMB goes when it is closed', 'directory/d', [[0, 1, create, made('e1')], [2, 3, open('h', 'RD', 'RW'), DONE], [4, 5, use('remove', 'h'), DONE], [6, 7, file('get'), refused(409, 'SMBDeletePending')], [8, 9, use('close', 'h'), DONE], [10, 11, file('get'), refused(404, 'ResourceNotFound')]]],
  ['a tree moves at once', 'tree/t', [[0, 1, make('a/f'), made('e1')], [2, 9, move('a', 'b'), { status: 201 }], [3, 4, LIST, listed('a a/f')], [5, 6, LIST, listed('b b/f')]]],
  ['one of two moves that would make a cycle is refused', 'tree/t', [[0, 1, make('a/f'), made('e1')], [0, 1, make('b/f'), made('e2')], [2, 9, move('a', 'b/a'), { status: 201 }], [2, 9, move('b', 'a/b'), refused(404, 'RenameDestinationParentPathNotFound')], [10, 11, LIST, listed('b b/a b/a/f b/f')]]],
]

// prettier-ignore
const BAD: readonly [string, string, readonly Line[]][] = [
  ['a stale read', 'block/b', [[0, 1, put('1'), made('e1')], [2, 3, put('2'), made('e2')], [4, 5, get, got('e1', '1')]]],
  ['a read goes back', 'block/b', [[0, 1, put('1'), made('e1')], [2, 9, put('2'), made('e2')], [3, 4, get, got('e2', '2')], [5, 6, get, got('e1', '1')]]],
  ['a lost condition', 'block/b', [[0, 1, put('1'), made('e1')], [2, 5, put('2', { condition: { match: 'e1' } }), made('e2')], [2, 5, put('3', { condition: { match: 'e1' } }), made('e3')]]],
  ['a lost write', 'block/b', [[0, 1, put('1'), made('e1')], [2, 3, { name: 'delete' }, { status: 202 }], [4, 5, get, got('e1', '1')]]],
  ['a write without an answer is made and unmade', 'block/b', [[0, 1, put('1'), made('e1')], [2, 3, put('2')], [4, 5, get, got('e2', '2')], [6, 7, get, got('e1', '1')]]],
  ['torn content', 'block/b', [[0, 1, put('1'), made('e1')], [2, 3, put('2'), made('e2')], [4, 5, get, got('e2', '1')]]],
  ['two leases at once', 'block/b', [[0, 1, put('1'), made('e1')], [2, 3, acquire('x'), held('x')], [4, 5, acquire('y'), held('y')]]],
  ['a write in spite of a lease', 'block/b', [[0, 1, put('1'), made('e1')], [2, 3, acquire('x', 15), held('x')], [14_000, 14_001, put('2'), made('e2')]]],
  ['a lease that does not end', 'block/b', [[0, 1, put('1'), made('e1')], [2, 3, acquire('x', 15), held('x')], [15_004, 15_005, put('2'), refused(412, 'LeaseIdMissing')]]],
  ['a block list of a block that is not there', 'block/b', [[0, 1, { name: 'putBlockList', blocks: ['a'] }, made('e1')]]],
  ['two appends at one offset', 'append/a', [[0, 1, put(''), made('e1')], [2, 9, { name: 'append', value: 'x.1.16' }, { status: 201, etag: 'e3', offset: 0, count: 1 }], [2, 8, { name: 'append', value: 'y.1.32' }, { status: 201, etag: 'e2', offset: 0, count: 1 }]]],
  ['a container is created twice', 'container/c', [[0, 1, { name: 'create' }, made('e1')], [2, 3, { name: 'create' }, made('e2')]]],
  ['a leased container is deleted', 'container/c', [[0, 1, { name: 'create' }, made('e1')], [2, 3, acquire('x'), held('x')], [4, 5, { name: 'delete' }, { status: 202 }]]],
  ['a double delivery', 'queue/q', [SEND, [2, 9, receive(30), deliver('r1', 1)], [4, 5, receive(30), deliver('r2', 2)]]],
  ['a stale receipt deletes', 'queue/q', [SEND, [2, 3, receive(1), deliver('r1', 1)], [1_004, 1_005, receive(1), deliver('r2', 2)], [1_006, 1_007, ack('r1'), { status: 204 }]]],
  ['a deleted message comes back', 'queue/q', [SEND, [2, 3, receive(1), deliver('r1', 1)], [4, 5, ack('r1'), { status: 204 }], [6_000, 6_001, receive(1), deliver('r2', 2)]]],
  ['a valid receipt is refused', 'queue/q', [SEND, [2, 3, receive(30), deliver('r1', 1)], [4, 5, ack('r1'), refused(404, 'MessageNotFound')]]],
  ['a message that was put is lost', 'queue/q', [SEND, [9_000, 9_001, receive(3_600), { status: 200, messages: [] }], [9_002, 9_003, { name: 'end' }, { status: 200 }]]],
  ['a torn batch', 'partition/p', [[0, 5, { name: 'batch', operations: [{ name: 'insert', row: 'a', properties: { A: '1' } }, { name: 'insert', row: 'b', properties: { A: '1' } }] }, { status: 202, answers: [made('e1'), made('e2')] }], [1, 2, { name: 'query' }, { status: 200, rows: { a: { etag: 'e1', properties: { A: '1' } } } }]]],
  ['an entity is inserted twice', 'partition/p', [[0, 5, row('insert', '1'), made('e1')], [0, 5, row('insert', '2'), made('e2')]]],
  ['a range is lost', 'directory/d', [[0, 1, create, made('e1')], [2, 3, file('putRange', { slot: 1, count: 1, value: '1' }), made('e2')], [4, 5, file('get'), { status: 200, etag: 'e2', value: '0 0' }]]],
  ['a write in spite of an open that does not share it', 'directory/d', [[0, 1, create, made('e1')], [2, 3, open('h', 'R', 'R'), DONE], [4, 5, file('putRange', { slot: 0, count: 1, value: '1' }), made('e2')]]],
  ['two opens that exclude each other', 'directory/d', [[0, 1, create, made('e1')], [2, 3, open('h', 'W', 'R'), DONE], [4, 5, open('i', 'W', 'RW'), DONE]]],
  ['an open for writing in spite of a lease', 'directory/d', [[0, 1, create, made('e1')], [2, 3, { ...acquire('x'), file: 'f' }, held('x')], [4, 5, open('h', 'W', 'RW'), DONE]]],
  ['a write over SMB is lost', 'directory/d', [[0, 1, create, made('e1')], [2, 3, open('h', 'RW', 'RW'), DONE], [4, 5, use('write', 'h', { slot: 0, count: 1, value: '1' }), DONE], [6, 7, file('get'), { status: 200, etag: 'e2', value: '0 0' }]]],
  ['half of a tree has moved', 'tree/t', [[0, 1, make('a/f'), made('e1')], [2, 9, move('a', 'b'), { status: 201 }], [3, 4, LIST, listed('a b b/f')]]],
  ['both moves of a cycle are made', 'tree/t', [[0, 1, make('a/f'), made('e1')], [0, 1, make('b/f'), made('e2')], [2, 9, move('a', 'b/a'), { status: 201 }], [2, 9, move('b', 'a/b'), { status: 201 }]]],
  ['a half rename', 'directory/d', [[0, 1, create, made('e1')], [2, 5, { ...file('rename'), to: 'g' }, { status: 200 }], [3, 4, { name: 'list' }, { status: 200, names: 'f g' }]]],
]

for (const [name, object, lines] of GOOD) {
  test(`explained: ${name}`, () => {
    assert.deepEqual(checkHistory(history(object, lines)).violations, [])
  })
}

for (const [name, object, lines] of BAD) {
  test(`not explained: ${name}`, () => {
    const { violations } = checkHistory(history(object, lines))
    assert.equal(violations.length, 1)
    // Whatever is left out of the window, the rest can't be explained.
    assert(violations.every(({ window }) => window.calls.length > 0))
  })
}

test('the smallest window leaves out what does not matter', () => {
  const many: Line[] = Array.from({ length: 40 }, (_, at): Line => [at * 10, at * 10 + 1, put(`${at}`), made(`e${at}`)]) // prettier-ignore
  const reads: Line[] = Array.from({ length: 10 }, (_, at): Line => [600 + at, 640, get, got('e39', '39')]) // prettier-ignore
  const stale: Line = [700, 701, get, got('e38', '38')]
  const { violations } = checkHistory(history('block/b', [...many, ...reads, stale]))
  const numbers = violations.flatMap(({ window }) => window.calls.map(({ number }) => number))
  assert.deepEqual(numbers, [51])
})
