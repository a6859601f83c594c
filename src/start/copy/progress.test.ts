import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytesText, progressOf, progressText } from './progress.ts'

function watch(isTerminal: boolean) {
  let nowMs = 0
  const written: string[] = []
  const write = (text: string): void => void written.push(text)
  const progress = progressOf({ isTerminal, write, nowMs: () => nowMs })
  const pass = (ms: number): void => void (nowMs += ms)
  return { progress, written, pass }
}

test('without a terminal there is a line from time to time, and the last one', () => {
  const { progress, written, pass } = watch(false)
  for (let done = 0; done <= 100; done += 1) {
    progress.show('records', done, 100)
    pass(300)
  }
  progress.show('records', 100, 100)
  progress.say('checking …')
  assert.deepEqual(written, [
    'records: 0 of 100, 0 %\n',
    'records: 34 of 100, 34 %, 20 s left\n',
    'records: 68 of 100, 68 %, 10 s left\n',
    'records: 100 of 100, 100 %\n',
    'checking …\n',
  ])
})

test('a terminal shows one line that changes', () => {
  const { progress, written, pass } = watch(true)
  progress.show('content', 0, 4_096)
  pass(100)
  progress.show('content', 1, 4_096)
  pass(900)
  progress.show('content', 1_024, 4_096)
  progress.show('records', 5, 5)
  progress.say('done')
  const clear = '\r\u001b[K'
  assert.deepEqual(written, [
    `${clear}content: 0 bytes of 4.0 KiB, 0 %`,
    `${clear}content: 1.0 KiB of 4.0 KiB, 25 %, 3 s left`,
    '\n',
    `${clear}records: 5 of 5, 100 %`,
    '\n',
    'done\n',
  ])
})

test('the time left counts from where an interrupted copy goes on', () => {
  const { progress, written, pass } = watch(true)
  progress.show('records', 900, 1_000)
  pass(1_000)
  progress.show('records', 910, 1_000)
  assert.match(written.at(-1) ?? '', /91 %, 9 s left$/)
})

test('amounts and times are readable', () => {
  assert.equal(progressText('records', 0, 0, undefined), 'records: 0 of 0, 100 %')
  assert.equal(progressText('records', 1, 3, 150_000), 'records: 1 of 3, 33 %, 3 min left')
  assert.equal(progressText('records', 1, 3, 7_500_000), 'records: 1 of 3, 33 %, 2 h 5 min left')
  const texts = [0, 1_023, 1_024, 1_572_864, 2 ** 50].map(bytesText)
  assert.deepEqual(texts, ['0 bytes', '1023 bytes', '1.0 KiB', '1.5 MiB', '1024.0 TiB'])
})
