import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { test } from 'node:test'
import { onShutdown, type Shutdown } from './shutdown.ts'

/** A server that closes when the test says so; `happened` records the events in order. */
function running({ graceMs, hasTerminal = false }: Partial<Shutdown> = {}) {
  const process = new EventEmitter()
  const happened: string[] = []
  const exits = new EventEmitter()
  const closing = new EventEmitter()
  const shutdown: Shutdown = {
    process,
    close: () => {
      happened.push('close')
      // Rejects when an 'error' is emitted.
      return once(closing, 'closed').then(() => undefined)
    },
    exit: (code) => {
      happened.push(`exit ${code}`)
      exits.emit('exit')
    },
    hasTerminal,
    reload: () => happened.push('reload'),
    report: (message) => happened.push(message),
    ...(graceMs === undefined ? {} : { graceMs }),
  }
  const stopListening = onShutdown(shutdown)
  return { process, happened, exits, closing, stopListening }
}

for (const [event, argument] of [['SIGINT'], ['SIGTERM'], ['message', 'shutdown']] as const) {
  test(`${event}: closes, then exits with 0`, async () => {
    const { process, happened, exits, closing } = running()
    process.emit(event, argument)
    assert.deepEqual(happened, ['close'])
    closing.emit('closed')
    await once(exits, 'exit')
    assert.deepEqual(happened, ['close', 'exit 0'])
  })
}

test('SIGHUP: reloads, but closes if it comes from a terminal', async () => {
  const service = running()
  service.process.emit('SIGHUP')
  service.process.emit('SIGHUP')
  assert.deepEqual(service.happened, ['reload', 'reload'])
  const inTerminal = running({ hasTerminal: true })
  inTerminal.process.emit('SIGHUP')
  inTerminal.closing.emit('closed')
  await once(inTerminal.exits, 'exit')
  assert.deepEqual(inTerminal.happened, ['close', 'exit 0'])
})

test('other messages are ignored', () => {
  const { process, happened } = running()
  process.emit('message', 'hello')
  process.emit('message', { shutdown: true })
  assert.deepEqual(happened, [])
})

test('a second signal exits at once, with the code of the signal', () => {
  const { process, happened, closing } = running()
  process.emit('SIGTERM')
  process.emit('SIGINT')
  assert.deepEqual(happened, ['close', 'exit 130'])
  closing.emit('closed')
})

test('a close that fails is reported', async () => {
  const { process, happened, exits, closing } = running()
  process.emit('SIGTERM')
  closing.emit('error', new Error('disk gone'))
  await once(exits, 'exit')
  assert.deepEqual(happened, ['close', 'did not close cleanly: disk gone', 'exit 1'])
})

test('a close that hangs ends after the grace period', async () => {
  const { process, happened, exits, closing } = running({ graceMs: 1 })
  process.emit('SIGTERM')
  await once(exits, 'exit')
  assert.match(happened[1] ?? '', /still in flight after 0\.001 s/)
  assert.equal(happened[2], 'exit 1')
  closing.emit('closed')
})

test('a server that was closed in another way stops listening for signals', () => {
  const { process, happened, stopListening } = running()
  stopListening()
  process.emit('SIGTERM')
  assert.deepEqual(happened, [])
})
