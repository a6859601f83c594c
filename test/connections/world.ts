// A server in a process of its own, clients that misbehave, and one that is served meanwhile.
import assert from 'node:assert/strict'
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { COMMAND } from '../../src/smb/wire/header.ts'
import { rawRequest } from '../harness.ts'
import type { Measured } from '../process-measure.ts'
import { RawClient, SIMPLE_BODY } from '../smb/raw-client.ts'
import type { Ports } from './server.ts'

export const MIB = 2 ** 20

export type ConnectionWorld = {
  readonly ports: Ports
  measure(): Promise<Measured>
  /** New clients of every port get what they ask for. */
  othersAreServed(): Promise<void>
  /** The server's descriptors, once closed connections have gone: it notices the end of one later than its client. */
  descriptorsAtMost(countMax: number): Promise<Measured>
  close(): void
}

const SERVER = fileURLToPath(new URL('server.ts', import.meta.url))
const TURNS_MAX = 2_000

export async function startConnectionWorld(): Promise<ConnectionWorld> {
  const child = fork(SERVER)
  const ports = (await answerOf(child)) as Ports
  const measure = async (): Promise<Measured> => {
    const answer = answerOf(child)
    child.send('measure')
    return (await answer) as Measured
  }
  return {
    ports,
    measure,
    othersAreServed: () => othersAreServed(ports),
    descriptorsAtMost: async (countMax) => {
      for (let turn = 0; turn < TURNS_MAX; turn += 1) {
        const measured = await measure()
        if (measured.descriptorCount <= countMax) return measured
        await othersAreServed(ports)
      }
      assert.fail(`there are still more than ${countMax} descriptors`)
    },
    close: () => child.kill('SIGKILL'),
  }
}

async function answerOf(child: ChildProcess): Promise<unknown> {
  const [answer] = await once(child, 'message')
  return answer
}

async function othersAreServed(ports: Ports): Promise<void> {
  for (const service of ['blob', 'queue', 'file', 'dfs'] as const) {
    const path = service === 'dfs' ? '/?resource=account' : '/?comp=list'
    const { status } = await rawRequest({ blobPort: ports[service] }, { method: 'GET', path })
    assert.equal(status, 200, service)
  }
  const refused = await rawRequest({ blobPort: ports.table }, { method: 'GET', path: '/Tables', sign: 'none' })
  assert.equal(refused.status, 401)
  assert.equal((await fetch(`http://127.0.0.1:${ports.admin}/health/live`)).status, 200)
  const smb = await RawClient.open(ports.smb)
  assert.equal((await smb.negotiate())?.status, 'SUCCESS')
  assert.equal((await smb.ask(COMMAND.ECHO, SIMPLE_BODY))?.status, 'SUCCESS')
  smb.close()
} // prettier-ignore

/** From several addresses, each of which has a range of ports of its own. */
export function openSocket(port: number, at = 0): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const localAddress = `127.0.0.${2 + (at % 8)}`
    const socket = connect({ host: '127.0.0.1', port, localAddress, allowHalfOpen: true })
    socket.once('connect', () => {
      socket.off('error', reject)
      // A reset also ends the connection; 'close' follows it.
      socket.on('error', () => undefined)
      resolve(socket)
    })
    socket.once('error', reject)
  })
}

/** Opens so many, some at a time. */
export async function openSockets(count: number, portOf: (at: number) => number): Promise<readonly Socket[]> {
  const sockets: Socket[] = []
  for (let from = 0; from < count; from += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, at) => from + at)
    sockets.push(...(await Promise.all(some.map((at) => openSocket(portOf(at), at)))))
  }
  return sockets
} // prettier-ignore

/** Fewer than the backlog of a listener. */
const AT_ONCE = 200

/** Waits until everything is sent, or the other side has had enough. */
export async function sendAll(socket: Socket, bytes: string | Uint8Array): Promise<void> {
  if (socket.destroyed || socket.writableEnded) return
  await new Promise<void>((resolve) => {
    const done = (): void => {
      socket.off('close', done)
      resolve()
    }
    socket.once('close', done)
    socket.write(bytes, done)
  })
}
