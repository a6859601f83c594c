// srvsvc, with bytes from the IDL of [MS-SRVS]: the requests of smbclient and Windows.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  answerOf,
  boundPipe,
  request,
  SERVER,
  SRVSVC_V3,
  string,
  u32,
  RPC_WORLD,
} from './example.ts'
import type { RpcWorld } from './interface.ts'

const P = 0x00020000 // Any pointer that is not NULL.
const NONE = u32(0)

const call = (operation: number, stub: Uint8Array, world: RpcWorld = RPC_WORLD) =>
  answerOf(boundPipe('srvsvc', SRVSVC_V3, world), request(operation, stub))

/** NetrShareEnum's arguments. */
const shareEnum = (level: number, { lengthBytesMax = 0xffffffff, resume = 0 } = {}) =>
  Buffer.concat([SERVER, u32(level, level, P, 0, 0, lengthBytesMax, P, resume)])

const UNLIMITED = 0xffffffff
const IPC_TYPE = 0x80000003

/** The fixed part of each level for 'data', 'Bücher' and IPC$, and then the strings. */
// prettier-ignore
const LEVELS: readonly (readonly [level: number, fixed: readonly number[], strings: readonly string[]])[] = [
  [0, [P, P, P], ['data', 'Bücher', 'IPC$']],
  [1, [P, 0, P, P, 0, P, P, IPC_TYPE, P],
    ['data', '', 'Bücher', 'All the books', 'IPC$', 'Remote IPC']],
  [2, [P, 0, P, 0, UNLIMITED, 0, P, 0, P, 0, P, 0, UNLIMITED, 0, P, 0, P, IPC_TYPE, P, 0, UNLIMITED, 0, P, 0],
    ['data', '', 'C:\\data', 'Bücher', 'All the books', 'C:\\Bücher', 'IPC$', 'Remote IPC', '']],
  [501, [P, 0, P, 0, P, 0, P, 0, P, IPC_TYPE, P, 0],
    ['data', '', 'Bücher', 'All the books', 'IPC$', 'Remote IPC']],
  [502, [P, 0, P, 0, UNLIMITED, 0, P, 0, 0, 0, P, 0, P, 0, UNLIMITED, 0, P, 0, 0, 0,
    P, IPC_TYPE, P, 0, UNLIMITED, 0, P, 0, 0, 0],
    ['data', '', 'C:\\data', 'Bücher', 'All the books', 'C:\\Bücher', 'IPC$', 'Remote IPC', '']],
]

for (const [level, fixed, strings] of LEVELS) {
  test(`NetrShareEnum supports level ${level}`, () => {
    const expected = Buffer.concat([
      u32(level, level, P, 3, P, 3, ...fixed),
      ...strings.map(string),
      u32(3, P, 0, 0),
    ])
    assert.deepEqual(call(15, shareEnum(level)), expected)
    assert.deepEqual(call(36, shareEnum(level)), expected)
  })
}

test('NetrShareEnum works without ResumeHandle, container and server name', () => {
  const answer = call(15, u32(0, 0, 0, 0, 0xffffffff, 0))
  const names = ['data', 'Bücher', 'IPC$'].map(string)
  assert.deepEqual(answer, Buffer.concat([u32(0, 0, P, 3, P, 3, P, P, P), ...names, u32(3, 0, 0)]))
})

test('NetrShareEnum returns as much as the client prefers, and the rest with ResumeHandle', () => {
  const first = call(15, shareEnum(0, { lengthBytesMax: 40 }))
  const one = Buffer.concat([u32(0, 0, P, 1, P, 1, P), string('data'), u32(3, P, 1, 234)])
  assert.deepEqual(first, one)
  const rest = call(15, shareEnum(0, { resume: 1 }))
  const names = ['Bücher', 'IPC$'].map(string)
  assert.deepEqual(rest, Buffer.concat([u32(0, 0, P, 2, P, 2, P, P), ...names, u32(2, P, 0, 0)]))
  assert.deepEqual(call(15, shareEnum(0, { resume: 9 })), u32(0, 0, P, 0, 0, 0, P, 0, 0))
})

const shareGet = (name: string, level: number) => Buffer.concat([SERVER, string(name), u32(level)])

// prettier-ignore
const SHARE: readonly (readonly [level: number, fixed: readonly number[], strings: readonly string[]])[] = [
  [0, [P], ['Bücher']],
  [1, [P, 0, P], ['Bücher', 'All the books']],
  [2, [P, 0, P, 0, UNLIMITED, 0, P, 0], ['Bücher', 'All the books', 'C:\\Bücher']],
  [501, [P, 0, P, 0], ['Bücher', 'All the books']],
  [502, [P, 0, P, 0, UNLIMITED, 0, P, 0, 0, 0], ['Bücher', 'All the books', 'C:\\Bücher']],
  [503, [P, 0, P, 0, UNLIMITED, 0, P, 0, P, 0, 0], ['Bücher', 'All the books', 'C:\\Bücher', '*']],
  [1004, [P], ['All the books']],
  [1005, [0], []],
  [1006, [UNLIMITED], []],
  [1501, [0, 0], []],
]

for (const [level, fixed, strings] of SHARE) {
  test(`NetrShareGetInfo supports level ${level}`, () => {
    const expected = Buffer.concat([u32(level, P, ...fixed), ...strings.map(string), NONE])
    assert.deepEqual(call(16, shareGet('bÜCHER', level)), expected)
  })
}

test('NetrShareGetInfo of an unknown share is NERR_NetNameNotFound', () => {
  assert.deepEqual(call(16, shareGet('none', 1)), u32(1, 0, 2310))
})

test('IPC$ is listed once, even if the world has it', () => {
  const shares = () => [{ name: 'ipc$', comment: 'Ours', type: IPC_TYPE }]
  const answer = call(16, shareGet('IPC$', 1), { ...RPC_WORLD, shares })
  assert.deepEqual(
    answer,
    Buffer.concat([u32(1, P, P, IPC_TYPE, P), string('ipc$'), string('Ours'), NONE]),
  )
})

// prettier-ignore
const SERVERS: readonly (readonly [level: number, fixed: readonly number[], strings: readonly string[]])[] = [
  [100, [500, P], ['LAZULI']],
  [101, [500, P, 10, 0, 0x9003, P], ['LAZULI', 'Lazuli']],
  [102, [500, P, 10, 0, 0x9003, P, UNLIMITED, -1, 0, 240, 3000, 0, P], ['LAZULI', 'Lazuli', 'C:\\']],
]

for (const [level, fixed, strings] of SERVERS) {
  test(`NetrServerGetInfo supports level ${level}`, () => {
    const expected = Buffer.concat([u32(level, P, ...fixed), ...strings.map(string), NONE])
    assert.deepEqual(call(21, Buffer.concat([SERVER, u32(level)])), expected)
  })
}

test('NetrRemoteTOD returns the time of the world', () => {
  const nowMs = RPC_WORLD.nowMs()
  const expected = [nowMs / 1000, nowMs % 2 ** 32, 12, 34, 56, 78, 0, 310, 15, 1, 2026, 4, 0]
  assert.deepEqual(call(28, SERVER), u32(P, ...expected))
})

const EMPTY: readonly (readonly [
  name: string,
  operation: number,
  strings: number,
  level: number,
])[] = [
  ['NetrConnectionEnum', 8, 1, 1],
  ['NetrFileEnum', 9, 2, 3],
  ['NetrSessionEnum', 12, 2, 10],
]

for (const [name, operation, strings, level] of EMPTY) {
  test(`${name} returns an empty list`, () => {
    const names = Array.from({ length: strings }, () => u32(0))
    const stub = Buffer.concat([SERVER, ...names, u32(level, level, P, 0, 0, 0xffffffff, P, 0)])
    assert.deepEqual(call(operation, stub), u32(level, level, P, 0, 0, 0, P, 0, 0))
  })
}

const [INVALID_TAG, BAD_STUB, RANGE] = [0x1c000006, 0x6f7, 0x1c010002]

// prettier-ignore
const FAULTS: readonly (readonly [what: string, operation: number, stub: Buffer, status: number])[] = [
  ['an unknown operation', 99, SERVER, RANGE],
  ['NetrShareAdd', 14, SERVER, RANGE],
  ['NetrShareEnum of level 7', 15, shareEnum(7), INVALID_TAG],
  ['NetrShareEnum with another tag than level', 15, Buffer.concat([SERVER, u32(1, 2, P, 0, 0, 1, 0)]), INVALID_TAG],
  ['NetrShareGetInfo of level 7', 16, shareGet('data', 7), INVALID_TAG],
  ['NetrServerGetInfo of level 7', 21, Buffer.concat([SERVER, u32(7)]), INVALID_TAG],
  ['NetrShareEnum with entries', 15, Buffer.concat([SERVER, u32(1, 1, P, 1, P, 1)]), BAD_STUB],
  ['no arguments', 15, Buffer.alloc(0), BAD_STUB],
  ['arguments that end early', 15, shareEnum(1).subarray(0, -1), BAD_STUB],
  ['a string longer than the stub', 28, u32(P, 99, 0, 99), BAD_STUB],
  ['a string of the maximum length', 28, u32(P, 0xffffffff, 0, 0xffffffff), BAD_STUB],
  ['a string with a nonzero offset', 28, u32(P, 4, 1, 1, 0), BAD_STUB],
]

for (const [what, operation, stub, status] of FAULTS) {
  test(`${what} is fault 0x${status.toString(16)}`, () => {
    assert.equal(call(operation, stub), status)
  })
}
