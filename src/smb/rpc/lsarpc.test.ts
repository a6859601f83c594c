// lsarpc, with bytes from the IDLs of [MS-LSAT] and [MS-LSAD]; test/clients/smb-names.test.ts uses real clients.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerOf, boundPipe, LSARPC_V0, request, u32 } from './example.ts'
import { FAULT } from './rpc-fault.ts'

const P = 0x00020000 // Any pointer that is not NULL.
const NONE = 0xffff_ffff
const [SUCCESS, SOME_NOT_MAPPED, NONE_MAPPED] = [0, 0x107, 0xc000_0073]
const [USER, DOMAIN, WELL_KNOWN, UNKNOWN] = [1, 3, 5, 8]

const call = (operation: number, ...parts: readonly Uint8Array[]) =>
  answerOf(boundPipe('lsarpc', LSARPC_V0), request(operation, Buffer.concat(parts)))

/** A policy handle from OpenPolicy2. */
function handle(): Buffer {
  const opened = call(44, u32(0, 24, 0, 0, 0, 0, 0, 0x0200_0000))
  assert(Buffer.isBuffer(opened))
  assert.equal(opened.length, 24)
  assert.deepEqual(opened.subarray(20), u32(SUCCESS))
  return opened.subarray(0, 20)
}

/** RPC_UNICODE_STRING: the lengths and the pointer, and the text that it points to. */
const head = (text: string) => u32(2 * text.length * 0x1_0001, text === '' ? 0 : P)
const body = (text: string) =>
  text === ''
    ? Buffer.alloc(0)
    : Buffer.concat([
        u32(text.length, 0, text.length),
        Buffer.from(text, 'utf16le'),
        Buffer.alloc((4 - ((2 * text.length) % 4)) % 4),
      ])

/** RPC_SID of an authority below 256. */
function sid(authority: number, ...subAuthorities: readonly number[]): Buffer {
  const { length } = subAuthorities
  return Buffer.concat([
    u32(length),
    Buffer.from([1, length, 0, 0, 0, 0, 0, authority]),
    u32(...subAuthorities),
  ])
}

const ACCOUNT = sid(5, 21, 1, 2, 3)
const ADA = sid(5, 21, 1, 2, 3, 1001)
const EVERYONE = sid(1, 0)
const STRANGER = sid(5, 21, 9, 9, 9, 9)

/** PLSAPR_REFERENCED_DOMAIN_LIST */
function domains(...list: readonly (readonly [name: string, sid: Buffer])[]): Buffer {
  if (list.length === 0) return u32(P, 0, 0, 0)
  return Buffer.concat([
    u32(P, list.length, P, list.length, list.length),
    ...list.flatMap(([name]) => [head(name), u32(P)]),
    ...list.flatMap(([name, own]) => [body(name), own]),
  ])
}

const sidArguments = (...sids: readonly Buffer[]) =>
  Buffer.concat([
    u32(sids.length, P, sids.length, ...sids.map(() => P)),
    ...sids,
    // No names yet, LsapLookupWksta, none mapped, no options, the first revision.
    u32(0, 0, 1, 0, 0, 1),
  ])

const nameArguments = (...names: readonly string[]) =>
  Buffer.concat([
    u32(names.length, names.length),
    ...names.map(head),
    ...names.map(body),
    u32(0, 0, 1, 0, 0, 1),
  ])

/** [operation, whether it takes a handle, whether its names have flags] */
for (const [operation, hasHandle, flags] of [
  [15, true, []],
  [57, true, [0]],
  [76, false, [0]],
] as const) {
  test(`operation ${operation} returns the names of SIDs`, () => {
    const policy = hasHandle ? handle() : Buffer.alloc(0)
    const text = 'S-1-5-21-9-9-9-9'
    assert.deepEqual(
      call(operation, policy, sidArguments(ADA, STRANGER, EVERYONE)),
      Buffer.concat([
        domains(['account1', ACCOUNT], ['', sid(1)]),
        u32(3, P, 3),
        u32(USER),
        head('Ada'),
        u32(0, ...flags),
        u32(UNKNOWN),
        head(text),
        u32(NONE, ...flags),
        u32(WELL_KNOWN),
        head('Everyone'),
        u32(1, ...flags),
        body('Ada'),
        body(text),
        body('Everyone'),
        u32(2, SOME_NOT_MAPPED),
      ]),
    )
  })
}

/** [operation, whether it takes a handle, flags of a SID] */
for (const [operation, hasHandle, flags] of [
  [14, true, []],
  [58, true, [0]],
] as const) {
  test(`operation ${operation} returns the SIDs of names, relative to their domain`, () => {
    assert.deepEqual(
      call(
        operation,
        hasHandle ? handle() : Buffer.alloc(0),
        nameArguments('ACCOUNT1\\zoË', 'nobody'),
      ),
      Buffer.concat([
        domains(['account1', ACCOUNT]),
        u32(2, P, 2, USER, 1002, 0, ...flags, UNKNOWN, NONE, NONE, ...flags),
        u32(1, SOME_NOT_MAPPED),
      ]),
    )
  })
}

for (const [operation, hasHandle] of [
  [68, true],
  [77, false],
] as const) {
  test(`operation ${operation} returns the whole SIDs of names`, () => {
    assert.deepEqual(
      call(operation, hasHandle ? handle() : Buffer.alloc(0), nameArguments('ada', 'nobody')),
      Buffer.concat([
        domains(['account1', ACCOUNT]),
        u32(2, P, 2, USER, P, 0, 0, UNKNOWN, 0, NONE, 0),
        ADA,
        u32(1, SOME_NOT_MAPPED),
      ]),
    )
  })
}

test('a name with a domain is found only in that domain', () => {
  for (const name of ['BUILTIN\\ada', 'other\\ada', 'ada\\account1']) {
    const none = Buffer.concat([domains(), u32(1, P, 1, UNKNOWN, NONE, NONE, 0, NONE_MAPPED)])
    assert.deepEqual(call(14, handle(), nameArguments(name)), none, name)
  }
})

test('a domain has a SID but no relative id, and an empty lookup finds nothing', () => {
  assert.deepEqual(
    call(14, handle(), nameArguments('account1')),
    Buffer.concat([domains(['account1', ACCOUNT]), u32(1, P, 1, DOMAIN, NONE, 0, 1, SUCCESS)]),
  )
  assert.deepEqual(call(15, handle(), u32(0, 0)), Buffer.concat([domains(), u32(0, 0, 0, SUCCESS)]))
})

test('the domain of the users is the account, and the server is in no domain', () => {
  const account = Buffer.concat([u32(P, 5), head('account1'), u32(P), body('account1'), ACCOUNT])
  const primary = Buffer.concat([u32(P, 3), head('WORKGROUP'), u32(0), body('WORKGROUP')])
  for (const operation of [7, 46]) {
    assert.deepEqual(call(operation, handle(), u32(5)), Buffer.concat([account, u32(SUCCESS)]))
    assert.deepEqual(call(operation, handle(), u32(3)), Buffer.concat([primary, u32(SUCCESS)]))
    assert.deepEqual(call(operation, handle(), u32(99)), u32(0, 0xc000_000d))
  }
})

test('a handle can be closed, and an unknown one is a fault', () => {
  assert.deepEqual(call(0, handle()), Buffer.concat([Buffer.alloc(20), u32(SUCCESS)]))
  for (const operation of [0, 7, 14, 15, 57]) {
    assert.equal(call(operation, Buffer.alloc(20, 7), sidArguments(ADA)), FAULT.contextMismatch)
  }
})

test('arguments that are truncated, miscounted or too many are a fault', () => {
  const policy = handle()
  for (const stub of [
    u32(0xffff_ffff, P, 0xffff_ffff),
    u32(1, P, 2, P),
    u32(1, P, 1, 0),
    Buffer.concat([u32(1, P, 1, P, 99), Buffer.alloc(400)]),
    sidArguments(ADA).subarray(0, 20),
    Buffer.concat([u32(1, P, 1, P, 1), Buffer.from([1, 2, 0, 0, 0, 0, 0, 5]), u32(1, 1)]),
    Buffer.concat([u32(1, P, 1, P, 1), Buffer.from([2, 1, 0, 0, 0, 0, 0, 5]), u32(1)]),
  ]) {
    assert.equal(call(15, policy, stub), FAULT.badStub)
  }
  for (const stub of [u32(2, 1), u32(0xffff_ffff, 0xffff_ffff), u32(1, 1, 0, P, 9_999, 0, 9_999)]) {
    assert.equal(call(14, policy, stub), FAULT.badStub)
  }
  assert.equal(call(99), FAULT.operationRange)
})
