// A named pipe of IPC$: bytes in, packets out. Each packet of the server is one message of the pipe, as in Windows: if
// it does not fit into a read, the next read gets the rest. No input makes the pipe throw. Its memory is bounded: beyond
// the limits it is disconnected.
import { answerContext, isAccepted } from './bind.ts'
import type { RpcInterface, RpcWorld } from './interface.ts'
import { LSARPC } from './lsarpc.ts'
import { ndrReader } from './ndr.ts'
import { BIND_NAK, decodePdu, encodeBindAck, encodeBindNak, encodeFault } from './pdu.ts'
import { encodeResponse, FRAGMENT_BYTES_MAX, pduLengthBytes } from './pdu.ts'
import type { Bind, Pdu, RpcRequest } from './pdu.ts'
import { FAULT, RpcFault } from './rpc-fault.ts'
import { SRVSVC } from './srvsvc.ts'
import { WKSSVC } from './wkssvc.ts'

export type PipeRead = {
  /** Empty if there is nothing to read yet. */
  readonly bytes: Uint8Array
  /** The message continues: STATUS_BUFFER_OVERFLOW. */
  readonly more: boolean
}

export type Pipe = {
  readonly write: (bytes: Uint8Array) => void
  readonly read: (lengthBytesMax: number) => PipeRead
  /** What `read` would return, without consuming it. */
  readonly peek: (lengthBytesMax: number) => PipeRead
  readonly unreadBytes: () => number
  /** FSCTL_PIPE_TRANSCEIVE: a write, and a read of its answer. */
  readonly transceive: (bytes: Uint8Array, lengthBytesMax: number) => PipeRead
  /** The input was not RPC, or too long: STATUS_PIPE_DISCONNECTED once everything has been read. */
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

/** A request with fragments still to come, and its stub so far. */
type PartialRequest = {
  readonly request: RpcRequest
  readonly stubs: Uint8Array[]
  lengthBytes: number
}

type State = {
  readonly name: string
  readonly rpc: RpcInterface
  readonly world: RpcWorld
  /** The start of an incomplete packet. */
  input: Uint8Array
  /** Unread packets; the first may be partly read. */
  output: Uint8Array[]
  unreadBytes: number
  fragmentBytesMax: number
  readonly contextIds: Set<number>
  isBound: boolean
  partial: PartialRequest | undefined
  isDisconnected: boolean
}

/** By its name in CREATE, with or without `\pipe\`; undefined if there is no such pipe. */
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
    handlePdu(state, decodePdu(input.subarray(0, lengthBytes)))
    input = input.subarray(lengthBytes)
  }
  // A copy, since the caller may reuse the bytes of a write.
  state.input = state.isDisconnected ? new Uint8Array(0) : Uint8Array.from(input)
}

function handlePdu(state: State, pdu: Pdu): void {
  switch (pdu.kind) {
    case 'ignored':
      return
    case 'broken':
      return disconnect(state, pdu.callId, FAULT.protocol)
    case 'refusedBind':
      return send(state, encodeBindNak(pdu.callId, pdu.reason))
    case 'bind':
    case 'alterContext':
      return handleBind(state, pdu)
    case 'request':
      return handleRequest(state, pdu)
  }
}

function handleBind(state: State, bind: Bind): void {
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

/** C706 12.6.4.9: the fragments of one call are consecutive, and the first and the last are marked. */
function handleRequest(state: State, request: RpcRequest): void {
  const { callId, stub, isFirst, isLast } = request
  const partial = state.partial ?? { request, stubs: [], lengthBytes: 0 }
  const follows = isFirst === (state.partial === undefined) && partial.request.callId === callId
  if (!follows) return disconnect(state, callId, FAULT.protocol)
  partial.lengthBytes += stub.length
  if (partial.lengthBytes > STUB_BYTES_MAX) return disconnect(state, callId, FAULT.noMemory)
  // A copy, since the caller may reuse the bytes of a write.
  if (stub.length > 0) partial.stubs.push(Uint8Array.from(stub))
  state.partial = isLast ? undefined : partial
  if (isLast) send(state, ...answer(state, partial.request, Buffer.concat(partial.stubs)))
}

function answer(state: State, request: RpcRequest, stub: Uint8Array): readonly Uint8Array[] {
  try {
    return encodeResponse(request, run(state, request, stub), state.fragmentBytesMax)
  } catch (error) {
    if (!(error instanceof RpcFault)) throw error
    return [encodeFault(request, error.status)]
  }
}

function run(state: State, { contextId, operation }: RpcRequest, stub: Uint8Array): Uint8Array {
  if (!state.contextIds.has(contextId)) throw new RpcFault(FAULT.unknownInterface)
  const call = state.rpc.operations.get(operation)
  if (call === undefined) throw new RpcFault(FAULT.operationRange)
  return call(ndrReader(stub), state.world)
}

function send(state: State, ...packets: readonly Uint8Array[]): void {
  state.output.push(...packets)
  state.unreadBytes += packets.reduce((sum, packet) => sum + packet.length, 0)
  // The client sends requests and never reads.
  if (state.unreadBytes > UNREAD_BYTES_MAX) state.isDisconnected = true
}

/** After invalid bytes, the start of the next packet is unknown. */
function disconnect(state: State, callId: number, status: number): void {
  send(state, encodeFault({ callId, contextId: 0 }, status))
  state.partial = undefined
  state.isDisconnected = true
}
