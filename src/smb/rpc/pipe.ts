// A named pipe of IPC$: bytes in, packets out. Each packet that we answer is one message of the pipe, as
// on Windows: a read that has no room for all of it gets the rest by the next. Nothing a client sends
// makes it throw, and what it may hold is bounded; past the bounds it is disconnected.
import { answerContext, isAccepted } from './bind.ts'
import type { RpcInterface, RpcWorld } from './interface.ts'
import { LSARPC } from './lsarpc.ts'
import { ndrReader } from './ndr.ts'
import { BIND_NAK, decodePdu, encodeBindAck, encodeBindNak, encodeFault } from './pdu.ts'
import { encodeResponse, FRAGMENT_BYTES_MAX, pduLengthBytes } from './pdu.ts'
import type { Bind, Pdu, Request } from './pdu.ts'
import { FAULT, RpcFault } from './rpc-fault.ts'
import { SRVSVC } from './srvsvc.ts'
import { WKSSVC } from './wkssvc.ts'

export type PipeRead = {
  /** Empty when there is nothing to read yet. */
  readonly bytes: Uint8Array
  /** This message goes on: STATUS_BUFFER_OVERFLOW. */
  readonly more: boolean
}

export type Pipe = {
  readonly write: (bytes: Uint8Array) => void
  readonly read: (lengthBytesMax: number) => PipeRead
  /** What `read` would give; it stays. */
  readonly peek: (lengthBytesMax: number) => PipeRead
  readonly unreadBytes: () => number
  /** FSCTL_PIPE_TRANSCEIVE: a write, and a read of its answer. */
  readonly transceive: (bytes: Uint8Array, lengthBytesMax: number) => PipeRead
  /** Bytes came that are no RPC, or too many: STATUS_PIPE_DISCONNECTED, once all is read. */
  readonly isDisconnected: () => boolean
}

const PIPES: ReadonlyMap<string, RpcInterface> = new Map([
  ['srvsvc', SRVSVC],
  ['wkssvc', WKSSVC],
  ['lsarpc', LSARPC],
])

const STUB_BYTES_MAX = 64 * 1024
const UNREAD_BYTES_MAX = 4 * 1024 * 1024
const CONTEXT_COUNT_MAX = 16

/** A request whose fragments are coming, and its stub so far. */
type PartialRequest = {
  readonly request: Request
  readonly stubs: Uint8Array[]
  lengthBytes: number
}

type State = {
  readonly name: string
  readonly rpc: RpcInterface
  readonly world: RpcWorld
  /** Of a packet that has not come whole. */
  input: Uint8Array
  /** Packets to be read; the first may be read in part. */
  output: Uint8Array[]
  unreadBytes: number
  fragmentBytesMax: number
  readonly contextIds: Set<number>
  isBound: boolean
  partial: PartialRequest | undefined
  isDisconnected: boolean
}

/** By its name as CREATE gives it, with or without `\pipe\`; undefined when there is none such. */
export function openPipe(name: string, world: RpcWorld): Pipe | undefined {
  const plain = name.toLowerCase().replace(/^\\?(pipe\\)?/, '')
  const rpc = PIPES.get(plain)
  if (rpc === undefined) return undefined
  const state: State = {
    name: plain,
    rpc,
    world,
    input: new Uint8Array(0),
    output: [],
    unreadBytes: 0,
    fragmentBytesMax: FRAGMENT_BYTES_MAX,
    contextIds: new Set(),
    isBound: false,
    partial: undefined,
    isDisconnected: false,
  }
  return {
    write: (bytes) => writePipe(state, bytes),
    read: (lengthBytesMax) => readPipe(state, lengthBytesMax),
    peek: (lengthBytesMax) => peekPipe(state, lengthBytesMax),
    unreadBytes: () => state.unreadBytes,
    transceive: (bytes, lengthBytesMax) => {
      writePipe(state, bytes)
      return readPipe(state, lengthBytesMax)
    },
    isDisconnected: () => state.isDisconnected && state.output.length === 0,
  }
}

function peekPipe({ output: [message] }: State, lengthBytesMax: number): PipeRead {
  if (message === undefined) return { bytes: new Uint8Array(0), more: false }
  const bytes = message.subarray(0, Math.max(0, lengthBytesMax))
  return { bytes, more: bytes.length < message.length }
}

function readPipe(state: State, lengthBytesMax: number): PipeRead {
  const message = state.output.shift()
  if (message === undefined) return { bytes: new Uint8Array(0), more: false }
  const bytes = message.subarray(0, Math.max(0, lengthBytesMax))
  const left = message.subarray(bytes.length)
  if (left.length > 0) state.output.unshift(left)
  state.unreadBytes -= bytes.length
  return { bytes, more: left.length > 0 }
}

function writePipe(state: State, bytes: Uint8Array): void {
  let input: Uint8Array = state.input.length === 0 ? bytes : Buffer.concat([state.input, bytes])
  while (!state.isDisconnected) {
    const lengthBytes = pduLengthBytes(input)
    if (lengthBytes === 0) disconnect(state, 0, FAULT.protocol)
    if (lengthBytes === undefined || lengthBytes === 0 || lengthBytes > input.length) break
    takePdu(state, decodePdu(input.subarray(0, lengthBytes)))
    input = input.subarray(lengthBytes)
  }
  // A copy, as the bytes of a write are the caller's.
  state.input = state.isDisconnected ? new Uint8Array(0) : Uint8Array.from(input)
}

function takePdu(state: State, pdu: Pdu): void {
  switch (pdu.kind) {
    case 'ignored':
      return
    case 'broken':
      return disconnect(state, pdu.callId, FAULT.protocol)
    case 'refusedBind':
      return send(state, encodeBindNak(pdu.callId, pdu.reason))
    case 'bind':
    case 'alterContext':
      return takeBind(state, pdu)
    case 'request':
      return takeRequest(state, pdu)
  }
}

function takeBind(state: State, bind: Bind): void {
  if (state.isBound === (bind.kind === 'bind')) {
    return send(state, encodeBindNak(bind.callId, BIND_NAK.unspecified))
  }
  state.isBound = true
  if (bind.kind === 'bind') state.fragmentBytesMax = bind.fragmentBytesMax
  const results = bind.contexts.map((offer) => {
    const answer = answerContext(offer, state.rpc)
    if (!isAccepted(answer)) return answer
    const hasRoom = state.contextIds.has(offer.id) || state.contextIds.size < CONTEXT_COUNT_MAX
    if (!hasRoom) return { result: 2, reason: 3, transfer: undefined } // local_limit_exceeded
    state.contextIds.add(offer.id)
    return answer
  })
  send(state, encodeBindAck(bind, `\\PIPE\\${state.name}`, results))
}

/** C706 12.6.4.9: the fragments of one call follow each other, the first and the last marked. */
function takeRequest(state: State, request: Request): void {
  const { callId, stub, isFirst, isLast } = request
  const partial = state.partial ?? { request, stubs: [], lengthBytes: 0 }
  const follows = isFirst === (state.partial === undefined) && partial.request.callId === callId
  if (!follows) return disconnect(state, callId, FAULT.protocol)
  partial.lengthBytes += stub.length
  if (partial.lengthBytes > STUB_BYTES_MAX) return disconnect(state, callId, FAULT.noMemory)
  // A copy, as the bytes of a write are the caller's.
  if (stub.length > 0) partial.stubs.push(Uint8Array.from(stub))
  state.partial = isLast ? undefined : partial
  if (isLast) send(state, ...answer(state, partial.request, Buffer.concat(partial.stubs)))
}

function answer(state: State, request: Request, stub: Uint8Array): readonly Uint8Array[] {
  try {
    return encodeResponse(request, run(state, request, stub), state.fragmentBytesMax)
  } catch (error) {
    if (!(error instanceof RpcFault)) throw error
    return [encodeFault(request, error.status)]
  }
}

function run(state: State, { contextId, operation }: Request, stub: Uint8Array): Uint8Array {
  if (!state.contextIds.has(contextId)) throw new RpcFault(FAULT.unknownInterface)
  const call = state.rpc.operations.get(operation)
  if (call === undefined) throw new RpcFault(FAULT.operationRange)
  return call(ndrReader(stub), state.world)
}

function send(state: State, ...packets: readonly Uint8Array[]): void {
  state.output.push(...packets)
  state.unreadBytes += packets.reduce((sum, packet) => sum + packet.length, 0)
  // A client that asks and never reads.
  if (state.unreadBytes > UNREAD_BYTES_MAX) state.isDisconnected = true
}

/** What comes behind such bytes can't be told apart any more. */
function disconnect(state: State, callId: number, status: number): void {
  send(state, encodeFault({ callId, contextId: 0 }, status))
  state.partial = undefined
  state.isDisconnected = true
}
