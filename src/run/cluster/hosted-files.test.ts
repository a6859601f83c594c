import assert from 'node:assert/strict'
import { Socket } from 'node:net'
import { test } from 'node:test'
import type { Exchange } from '../../http/protocol/exchange.ts'
import { HandDrivenHome } from '../../peer/harness.ts'
import { HostedFiles, type StartedFiles } from './hosted-files.ts'

type Start = { finish(): void; fail(): void }

/** A host whose starts the test ends. `events` is what happened, in order. */
function newHost() {
  const home = new HandDrivenHome()
  const events: string[] = []
  const starts: Start[] = []
  const retries: (() => void)[] = []
  let lives = 0
  const start = (): Promise<StartedFiles> => {
    lives += 1
    const life = lives
    events.push(`start ${life}`)
    return new Promise((resolve, reject) => {
      starts.push({
        finish: () => resolve(files(life)),
        fail: () => reject(new Error(`no ${life}`)),
      })
    })
  }
  const files = (life: number) =>
    ({
      handler: handler(`served by ${life}`),
      acceptSmb: () => events.push(`SMB of ${life}`),
      stop: async () => void events.push(`stop ${life}`),
    }) as unknown as StartedFiles
  const handler = (text: string) => ({
    handle: async () => void events.push(text),
    logFault: () => assert.fail(),
  })
  const host = new HostedFiles({
    home,
    start,
    dropConnections: () => events.push('drop'),
    busy: handler('busy'),
    after: (_delayMs, then) => {
      retries.push(then)
      return () => retries.splice(retries.indexOf(then), 1)
    },
    report: (error) => events.push(String(error)),
  })
  const request = (): Promise<void> => host.handler.handle({} as Exchange)
  return { home, host, events, starts, retries, request }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('requests are busy without the role, wait for the start, and are served', async () => {
  const { home, host, events, starts, request } = newHost()
  await request()
  home.move('here')
  const waiting = request()
  await turn()
  starts[0]?.finish()
  await waiting
  await request()
  await host.close()
  await request()
  assert.deepEqual(events, [
    'busy',
    'start 1',
    'served by 1',
    'served by 1',
    'drop',
    'stop 1',
    'busy',
  ])
})

test('a role that is lost during the start stops what was started', async () => {
  const { home, host, events, starts, request } = newHost()
  home.move('here')
  await turn()
  const waiting = request()
  home.move(undefined)
  starts[0]?.finish()
  await waiting
  await host.close()
  assert.deepEqual(events, ['start 1', 'drop', 'stop 1', 'busy'])
})

test('a role that is lost and regained at once begins a new life, after the end of the first', async () => {
  const { home, host, events, starts, request } = newHost()
  home.move('here')
  await turn()
  starts[0]?.finish()
  await turn()
  home.move(undefined)
  home.move('here')
  await turn()
  starts[1]?.finish()
  await request()
  await host.close()
  assert.deepEqual(events, [
    'start 1',
    'drop',
    'stop 1',
    'start 2',
    'served by 2',
    'drop',
    'stop 2',
  ])
})

test('a failed start is repeated, and requests do not wait for that', async () => {
  const { home, host, events, starts, retries, request } = newHost()
  home.move('here')
  const waiting = request()
  await turn()
  starts[0]?.fail()
  await waiting
  retries.shift()?.()
  const second = request()
  starts[1]?.finish()
  await second
  await host.close()
  assert.deepEqual(events, [
    'start 1',
    'Error: no 1',
    'busy',
    'start 2',
    'served by 2',
    'drop',
    'stop 2',
  ])
})

test('a failed start is not repeated after the role is lost', async () => {
  const { home, host, events, starts, retries } = newHost()
  home.move('here')
  await turn()
  starts[0]?.fail()
  await turn()
  assert.equal(retries.length, 1)
  home.move(undefined)
  assert.equal(retries.length, 0)
  await host.close()
  assert.deepEqual(events, ['start 1', 'Error: no 1', 'drop'])
})

test('SMB connections are closed without the role, and wait for the start', async () => {
  const { home, host, events, starts } = newHost()
  const early = new Socket()
  host.acceptSmb(early)
  assert.equal(early.destroyed, true)
  home.move('here')
  host.acceptSmb(new Socket())
  await turn()
  starts[0]?.finish()
  await turn()
  assert.deepEqual(events, ['start 1', 'SMB of 1'])
  await host.close()
})
