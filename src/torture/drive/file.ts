// What clients do to the files of a directory over REST.
import type { Answer, Operation } from '../history/call.ts'
import { isLeaseAction } from '../model/lease.ts'
import { bytesOf, contentOf } from '../model/value.ts'
import {
  chooseLease,
  chooseLeaseAction,
  conditionHeaders,
  leaseAnswer,
  leaseHeaders,
  outcomeOf,
  rememberLease,
  taggedOutcomeOf,
  type Kind,
  type Memory,
  type Place,
  type Reply,
  type Request,
} from './kind.ts'

export const FILES = ['f0', 'f1', 'f2'] as const
export const SLOTS = 4
export const SLOT_BYTES = 512

export const DIRECTORY: Kind = {
  name: 'directory',
  service: 'file',
  choose: (chooser) => {
    const { random, memory, newValue } = chooser
    const name = random.weighted({ get: 26, putRange: 30, create: 12, delete: 8, rename: 10, list: 8, lease: 10 }) // prettier-ignore
    if (name === 'list') return { name }
    // A lease is on one file; the client works on that one while it has it.
    const file = memory.lease === undefined ? random.pick(FILES) : (memory.etags.get('file') ?? 'f0')
    if (name === 'lease') return { ...chooseLeaseAction(chooser, undefined), file }
    if (name === 'rename') return { name, file, to: random.pick(FILES.filter((each) => each !== file)), replaces: random.chance(0.6) }
    const lease = chooseLease(chooser)
    if (name === 'create') return { name, file, slots: SLOTS, ...lease }
    if (name !== 'putRange') return { name, file, ...lease }
    const slot = random.below(SLOTS)
    return { name, file, slot, count: 1 + random.below(SLOTS - slot), value: newValue(SLOT_BYTES), ...lease }
  }, // prettier-ignore
  send: async (send, place, operation) =>
    answerOf(operation, await send(fileRequest(place, operation))),
  remember: (memory: Memory, operation, answer) => {
    rememberLease(memory, operation, answer)
    if (operation.name === 'acquire' && answer.status < 300) memory.etags.set('file', operation.file ?? '') // prettier-ignore
  },
}

function fileRequest(place: Place, operation: Operation): Request {
  const { name, file = '', to = '', slot = 0, count = 1, value = '', slots = 0, replaces } = operation // prettier-ignore
  const folder = `/${place.run}/${place.name}`
  const path = `${folder}/${file}`
  const base = { service: 'file', method: 'PUT', path, headers: conditionHeaders(operation) } as const // prettier-ignore
  if (isLeaseAction(operation)) return { ...base, path: `${path}?comp=lease`, headers: leaseHeaders(operation) } // prettier-ignore
  switch (name) {
    case 'list':
      return { ...base, method: 'GET', path: `${folder}?restype=directory&comp=list` }
    case 'get':
      return { ...base, method: 'GET' }
    case 'delete':
      return { ...base, method: 'DELETE' }
    case 'create': {
      const size = { 'x-ms-type': 'file', 'x-ms-content-length': String(slots * SLOT_BYTES) }
      return { ...base, headers: { ...base.headers, ...size } }
    }
    case 'rename': {
      const headers = { 'x-ms-file-rename-source': `${place.endpoint}${path}`, 'x-ms-file-rename-replace-if-exists': String(replaces === true) } // prettier-ignore
      return { ...base, path: `${folder}/${to}?comp=rename`, headers }
    }
    default: {
      const end = (slot + count) * SLOT_BYTES - 1
      const range = { 'x-ms-write': 'update', 'x-ms-range': `bytes=${slot * SLOT_BYTES}-${end}` }
      const body = Buffer.concat(Array.from({ length: count }, () => bytesOf(value)))
      return { ...base, path: `${path}?comp=range`, headers: { ...base.headers, ...range }, body }
    }
  }
}

function answerOf(operation: Operation, reply: Reply): Answer {
  if (isLeaseAction(operation)) return leaseAnswer(reply)
  const { name } = operation
  if (name === 'delete') return outcomeOf(reply)
  const outcome = taggedOutcomeOf(reply)
  if (outcome.status >= 300) return outcome
  if (name === 'list') {
    const names = [...reply.body.toString().matchAll(/<File>.*?<Name>([^<]*)<\/Name>/gs)]
    return { status: outcome.status, names: names.map(([, each = '']) => each).sort().join(' ') } // prettier-ignore
  }
  return name === 'get' ? { ...outcome, value: slotsOf(reply.body) } : outcome
}

export function slotsOf(body: Buffer): string {
  const slots = Array.from({ length: Math.ceil(body.length / SLOT_BYTES) }, (_, at) =>
    body.subarray(at * SLOT_BYTES, (at + 1) * SLOT_BYTES),
  )
  return slots.map((slot) => (slot.every((byte) => byte === 0) ? '0' : contentOf(slot))).join(' ')
}
