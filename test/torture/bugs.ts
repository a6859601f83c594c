// Bugs of servers, each as something in front of a right one.
import type { Reply, Request, Send } from '../../src/torture/drive/kind.ts'

export type Bug = (send: Send) => Send

/** Every n-th time. */
function every(countMax: number): () => boolean {
  let count = 0
  return () => {
    count += 1
    return count % countMax === 0
  }
}

const plainPath = ({ path }: Request) => path.split('?', 1)[0] ?? ''
const isGetBlob = ({ service, method, path }: Request) =>
  service === 'blob' && method === 'GET' && !path.includes('?')

/** Some reads get what another one got before. */
export function staleRead(): Bug {
  const before = new Map<string, Reply>()
  const isDue = every(5)
  return (send) => async (request) => {
    const reply = await send(request)
    if (!isGetBlob(request) || reply.status !== 200) return reply
    const old = before.get(request.path)
    before.set(request.path, reply)
    return old !== undefined && isDue() ? old : reply
  }
}

/** If-Match of some writes is not looked at. */
export function lostCondition(times = 3): Bug {
  const isDue = every(times)
  return (send) => (request) => {
    const { 'If-Match': match, ...headers } = request.headers ?? {}
    const isLost = match !== undefined && request.method === 'PUT' && isDue()
    return send(isLost ? { ...request, headers } : request)
  }
}

/** Some writes are acknowledged and not made. */
export function lostWrite(): Bug {
  const isDue = every(20)
  return (send) => async (request) => {
    const isPut = request.service === 'blob' && request.headers?.['x-ms-blob-type'] === 'BlockBlob'
    if (!isPut || !isDue()) return send(request)
    const etag = `"0x${Date.now().toString(16)}"`
    return { status: 201, headers: { etag }, body: Buffer.alloc(0) }
  }
}

const isGetMessages = ({ service, method, path }: Request) =>
  service === 'queue' && method === 'GET' && !path.includes('peekonly')

/** Some gets return the messages that another client has just got. */
export function doubleDelivery(): Bug {
  const last = new Map<string, Reply>()
  const isDue = every(6)
  return (send) => async (request) => {
    if (!isGetMessages(request)) return send(request)
    const known = last.get(plainPath(request))
    if (known !== undefined && isDue()) return known
    const reply = await send(request)
    if (reply.body.includes('<MessageId>')) last.set(plainPath(request), reply)
    return reply
  }
}

/** Some messages that were got by nobody disappear. */
export function lostMessage(): Bug {
  const isDue = every(10)
  return (send) => async (request) => {
    const reply = await send(request)
    if (!isGetMessages(request) || reply.status !== 200 || !isDue()) return reply
    const text = reply.body.toString()
    for (const [, id = '', receipt = ''] of text.matchAll(/<MessageId>([^<]*).*?<PopReceipt>([^<]*)/gs)) {
      const path = `${plainPath(request)}/${id}?popreceipt=${encodeURIComponent(receipt)}`
      await send({ service: 'queue', method: 'DELETE', path })
    }
    return { ...reply, body: Buffer.from('<QueueMessagesList/>') }
  } // prettier-ignore
}

/** Any receipt deletes a message. */
export function staleReceipt(): Bug {
  const latest = new Map<string, string>()
  return (send) => async (request) => {
    const [, id = ''] = /\/messages\/([^?]+)/.exec(request.path) ?? []
    const receipt = latest.get(id)
    const isDelete = request.method === 'DELETE' && receipt !== undefined
    const path = `${plainPath(request)}?popreceipt=${encodeURIComponent(receipt ?? '')}`
    const reply = await send(isDelete ? { ...request, path } : request)
    const received = reply.headers['x-ms-popreceipt']
    if (typeof received === 'string') latest.set(id, received)
    for (const [, own = '', its = ''] of reply.body.toString().matchAll(/<MessageId>([^<]*).*?<PopReceipt>([^<]*)/gs)) latest.set(own, its) // prettier-ignore
    return reply
  }
}

/** Of some batches, the last operation does not happen. */
export function tornBatch(): Bug {
  const isDue = every(3)
  return (send) => async (request) => {
    const parts = String(request.body ?? '').split('--changeset_1\r\n')
    if (!request.path.endsWith('$batch') || parts.length < 3 || !isDue()) return send(request)
    const last = parts.pop() ?? ''
    const body = `${parts.join('--changeset_1\r\n')}--changeset_1--\r\n--batch_torture--\r\n`
    const reply = await send({ ...request, body })
    if (reply.status !== 202 || /HTTP\/1\.1 [45]/.test(reply.body.toString())) return reply
    const status = last.includes('POST ') ? 201 : 204
    const answer = `HTTP/1.1 ${status} OK\r\nETag: W/"made-up-${Date.now()}"\r\n\r\n`
    return { ...reply, body: Buffer.concat([reply.body, Buffer.from(answer)]) }
  }
}

/** Some writes go through although somebody else has a lease. */
export function lostLease(): Bug {
  const leases = new Map<string, string>()
  return (send) => async (request) => {
    const reply = await send(request)
    const { headers = {} } = request
    const held = headers['x-ms-proposed-lease-id']
    if (held !== undefined && reply.status < 300) leases.set(plainPath(request), held)
    const known = leases.get(plainPath(request))
    const isRefused = reply.headers['x-ms-error-code'] === 'LeaseIdMissing'
    if (!isRefused || known === undefined) return reply
    return send({ ...request, headers: { ...headers, 'x-ms-lease-id': known } })
  }
}

/** Some downloads mix two states. */
export function tornRead(): Bug {
  const before = new Map<string, Reply>()
  return (send) => async (request) => {
    const reply = await send(request)
    if (!isGetBlob(request) || reply.status !== 200) return reply
    const old = before.get(request.path)
    before.set(request.path, reply)
    if (old === undefined || old.body.length !== reply.body.length) return reply
    const middle = reply.body.length >> 1
    return { ...reply, body: Buffer.concat([old.body.subarray(0, middle), reply.body.subarray(middle)]) } // prettier-ignore
  }
}
