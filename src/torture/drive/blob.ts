// What clients do to block blobs, append blobs and containers.
import type { Answer, Operation } from '../history/call.ts'
import { isLeaseAction } from '../model/lease.ts'
import { bytesOf, contentOf } from '../model/value.ts'
import {
  chooseCondition,
  chooseLease,
  chooseLeaseAction,
  conditionHeaders,
  headerOf,
  leaseAnswer,
  leaseHeaders,
  outcomeOf,
  rememberLease,
  taggedOutcomeOf,
  type Chooser,
  type Kind,
  type Memory,
  type Place,
  type Reply,
  type Request,
  type Send,
} from './kind.ts'

const BLOCK_IDS = ['a', 'b', 'c'] as const
/** Beyond what is kept in a record, and beyond what is kept in the first extent. */
const LENGTHS = [16, 64, 64, 9_000, 70_000]
const LEASE_SECONDS = 15

const encoded = (id: string) => Buffer.from(id).toString('base64')

function chooseBlob(chooser: Chooser, weights: Record<string, number>): Operation {
  const { random, newValue } = chooser
  const name = random.weighted(weights)
  const { condition } = chooseCondition(chooser)
  const isOfReads = condition?.none !== '*' || random.chance(0.05)
  const isUsed = condition !== undefined && (name !== 'get' || isOfReads)
  const guarded = { ...(isUsed && { condition }), ...chooseLease(chooser) }
  switch (name) {
    case 'lease':
      return chooseLeaseAction(chooser, LEASE_SECONDS)
    case 'put':
      return { name, value: newValue(random.pick(LENGTHS)), ...guarded }
    case 'setMetadata':
      return { name, value: newValue(16), ...guarded }
    case 'putBlock':
      return { name, block: random.pick(BLOCK_IDS), value: newValue(random.pick(LENGTHS)), ...chooseLease(chooser) } // prettier-ignore
    case 'putBlockList':
      return { name, blocks: BLOCK_IDS.filter(() => random.chance(0.6)), ...guarded }
    case 'append': {
      const { offset } = chooser.memory
      const position = offset !== undefined && random.chance(0.4) && { position: offset }
      return { name, value: newValue(random.pick([16, 64, 9_000])), ...guarded, ...position }
    }
    case 'getBlockList':
      return { name }
    default:
      return { name, ...guarded }
  }
}

const pathOf = ({ run, name }: Place) => `/${run}/${name}`

function blobRequest(kind: 'block' | 'append', place: Place, operation: Operation): Request {
  const { name, value = '', block = '', blocks = [], position } = operation
  const path = pathOf(place)
  const guard = conditionHeaders(operation)
  const base = { service: 'blob', method: 'PUT', path } as const
  if (isLeaseAction(operation)) return { ...base, path: `${path}?comp=lease`, headers: leaseHeaders(operation) } // prettier-ignore
  switch (name) {
    case 'put': {
      const headers = { 'x-ms-blob-type': kind === 'block' ? 'BlockBlob' : 'AppendBlob', ...guard }
      return { ...base, headers, body: kind === 'block' ? bytesOf(value) : '' }
    }
    case 'get':
      return { ...base, method: 'GET', headers: guard }
    case 'delete':
      return { ...base, method: 'DELETE', headers: guard }
    case 'setMetadata':
      return { ...base, path: `${path}?comp=metadata`, headers: { 'x-ms-meta-value': value, ...guard } } // prettier-ignore
    case 'putBlock':
      return { ...base, path: `${path}?comp=block&blockid=${encodeURIComponent(encoded(block))}`, headers: guard, body: bytesOf(value) } // prettier-ignore
    case 'putBlockList': {
      const body = `<BlockList>${blocks.map((id) => `<Latest>${encoded(id)}</Latest>`).join('')}</BlockList>`
      return { ...base, path: `${path}?comp=blocklist`, headers: guard, body }
    }
    case 'getBlockList':
      return { ...base, method: 'GET', path: `${path}?comp=blocklist&blocklisttype=all` }
    default: {
      const condition = position !== undefined && { 'x-ms-blob-condition-appendpos': String(position) } // prettier-ignore
      return { ...base, path: `${path}?comp=appendblock`, headers: { ...guard, ...condition }, body: bytesOf(value) } // prettier-ignore
    }
  }
}

function blobAnswer(operation: Operation, reply: Reply): Answer {
  if (isLeaseAction(operation)) return leaseAnswer(reply)
  const outcome = taggedOutcomeOf(reply)
  if (outcome.status >= 300) return outcome
  switch (operation.name) {
    case 'get': {
      const metadata = headerOf(reply, 'x-ms-meta-value') ?? ''
      return { ...outcome, value: contentOf(reply.body), metadata }
    }
    case 'getBlockList':
      return { status: outcome.status, ...blocksOf(reply.body.toString()) }
    case 'append': {
      const offset = Number(headerOf(reply, 'x-ms-blob-append-offset'))
      return { ...outcome, offset, count: Number(headerOf(reply, 'x-ms-blob-committed-block-count')) } // prettier-ignore
    }
    case 'putBlock':
    case 'delete':
      return { status: outcome.status }
    default:
      return outcome
  }
}

function blocksOf(xml: string): Pick<Answer, 'committed' | 'uncommitted'> {
  const list = (name: string): string => {
    const part = new RegExp(`<${name}>(.*)</${name}>`, 's').exec(xml)?.[1] ?? ''
    const names = [...part.matchAll(/<Name>([^<]*)<\/Name>/g)].map(([, id = '']) => id)
    return names.map((id) => Buffer.from(id, 'base64').toString()).join(' ')
  }
  const uncommitted = list('UncommittedBlocks').split(' ').sort().join(' ')
  return { committed: list('CommittedBlocks'), uncommitted }
}

function rememberBlob(memory: Memory, operation: Operation, answer: Answer): void {
  if (answer.etag !== undefined) memory.etag = answer.etag
  if (operation.name === 'append' && answer.offset !== undefined) {
    memory.offset = answer.offset + bytesOf(operation.value ?? '').length
  }
  if (operation.name === 'get' && answer.status === 200) memory.offset = bytesOf(answer.value ?? '').length // prettier-ignore
  rememberLease(memory, operation, answer)
}

// prettier-ignore
export const BLOCK_WEIGHTS = { get: 24, put: 14, setMetadata: 8, putBlock: 12, putBlockList: 12, getBlockList: 6, delete: 4, lease: 12 }
export const APPEND_WEIGHTS = { get: 24, put: 4, append: 30, setMetadata: 4, delete: 3, lease: 8 }

function blobKind(name: 'block' | 'append', weights: Record<string, number>): Kind {
  return {
    name,
    service: 'blob',
    choose: (chooser) => {
      const operation = chooseBlob(chooser, weights)
      // An append blob is created empty.
      return name === 'append' && operation.name === 'put' ? { ...operation, value: '' } : operation
    },
    send: async (send: Send, place, operation) =>
      blobAnswer(operation, await send(blobRequest(name, place, operation))),
    remember: rememberBlob,
  }
}

export const BLOCK_BLOB = blobKind('block', BLOCK_WEIGHTS)
export const APPEND_BLOB = blobKind('append', APPEND_WEIGHTS)

const CONTAINER_WEIGHTS = { get: 20, setMetadata: 15, create: 20, delete: 8, lease: 15 }

/** A container of its own for each object. */
export const CONTAINER: Kind = {
  name: 'container',
  service: 'blob',
  choose: (chooser) => {
    const name = chooser.random.weighted(CONTAINER_WEIGHTS)
    if (name === 'lease') return chooseLeaseAction(chooser, LEASE_SECONDS)
    if (name === 'create') return { name }
    if (name === 'setMetadata') return { name, value: chooser.newValue(16), ...chooseLease(chooser) }
    return { name, ...chooseLease(chooser) }
  }, // prettier-ignore
  send: async (send, { run, name }, operation) => {
    const path = `/${run}-${name}?restype=container`
    const isLease = isLeaseAction(operation)
    const comp = isLease ? '&comp=lease' : operation.name === 'setMetadata' ? '&comp=metadata' : ''
    const headers = isLease ? leaseHeaders(operation) : conditionHeaders(operation)
    const method = { get: 'GET', delete: 'DELETE' }[operation.name] ?? 'PUT'
    const metadata = operation.name === 'setMetadata' && { 'x-ms-meta-value': operation.value ?? '' } // prettier-ignore
    const reply = await send({ service: 'blob', method, path: path + comp, headers: { ...headers, ...metadata } }) // prettier-ignore
    if (isLease) return leaseAnswer(reply)
    if (operation.name === 'delete') return outcomeOf(reply)
    const outcome = taggedOutcomeOf(reply)
    if (operation.name !== 'get' || outcome.status !== 200) return outcome
    return { ...outcome, metadata: headerOf(reply, 'x-ms-meta-value') ?? '' }
  },
  remember: rememberLease,
}
