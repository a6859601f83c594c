import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addEntry, filledJournal } from '../../../../test/journal-entries.ts'
import type { Exchange } from '../../../http/protocol/exchange.ts'
import type { JournalFilter } from '../../../control/journal.ts'
import { streamEntries } from './stream.ts'

/** A client that reads or not, and keeps what it was sent. */
function client() {
  const sent: string[] = []
  let leave = (): void => undefined
  let drain = (): void => undefined
  let more = (): void => undefined
  const reader = { isReading: true }
  const exchange: Pick<Exchange, 'begin' | 'write' | 'whenGone' | 'drained'> = {
    begin: () => undefined,
    write: (bytes) => {
      sent.push(Buffer.from(bytes).toString())
      more()
      return reader.isReading
    },
    whenGone: (listener) => (leave = listener),
    drained: () => new Promise((resolve) => (drain = resolve)),
  }
  return {
    exchange: exchange as Exchange,
    reader,
    leave: () => leave(),
    drain: () => drain(),
    text: () => sent.join(''),
    /** Resolves when the text has come. */
    async got(pattern: RegExp): Promise<void> {
      while (!pattern.test(sent.join(''))) await new Promise<void>((resolve) => (more = resolve))
    },
  }
}

function idsIn(text: string): readonly number[] {
  return [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))
}

function stream(
  journal = filledJournal(),
  filter: JournalFilter = {},
  from?: number,
  heartbeatMs = 60_000,
) {
  const reading = client()
  const ended = streamEntries({ journal, filter, from, times: { heartbeatMs } }, reading.exchange)
  return { ...reading, journal, ended }
}

test('a stream sends new entries and no old ones', async () => {
  const { journal, got, text, leave, ended } = stream()
  addEntry(journal, 4)
  await got(/id: 4\n/)
  leave()
  await ended
  assert.deepEqual(idsIn(text()), [4])
  const [data = ''] = /(?<=^data: ).*$/m.exec(text()) ?? []
  assert.deepEqual(JSON.parse(data), journal.view(journal.find(4) ?? assert.fail()))
})

test('a stream goes on after the id that a client names', async () => {
  const { got, text, leave, ended } = stream(filledJournal(), {}, 1)
  await got(/id: 3\n/)
  leave()
  await ended
  assert.deepEqual(idsIn(text()), [2, 3])
})

test('an id of the last run of the server is answered with all entries of this one', async () => {
  const { got, text, leave, ended } = stream(filledJournal(), {}, 5_000)
  await got(/id: 3\n/)
  leave()
  await ended
  assert.deepEqual(idsIn(text()), [1, 2, 3])
})

test('a filter', async () => {
  const { journal, got, text, leave, ended } = stream(filledJournal(), { conflicts: true }, 0)
  for (const number of [4, 5, 6]) addEntry(journal, number)
  await got(/id: 6\n/)
  leave()
  await ended
  assert.deepEqual(idsIn(text()), [3, 6])
})

test('a client that reads slowly loses entries, and hears how many', async () => {
  const journal = filledJournal(5)
  const { reader, got, drain, text, leave, ended } = stream(journal)
  reader.isReading = false
  addEntry(journal, 4)
  await got(/id: 4\n/)
  for (let number = 5; number <= 20; number += 1) addEntry(journal, number)
  reader.isReading = true
  drain()
  await got(/id: 20\n/)
  leave()
  await ended
  assert.deepEqual(idsIn(text()), [4, 16, 17, 18, 19, 20])
  assert.match(text(), /\n\nevent: dropped\ndata: {"count":11}\n\nid: 16\n/)
})

test('many entries are sent in order, in pieces', async () => {
  const journal = filledJournal(5_000)
  const { got, text, leave, ended } = stream(journal)
  for (let number = 4; number <= 2_000; number += 1) addEntry(journal, number)
  await got(/id: 2000\n/)
  leave()
  await ended
  assert.deepEqual(
    idsIn(text()),
    Array.from({ length: 1_997 }, (_, at) => at + 4),
  )
})

test('a quiet stream gets signs of life, and a client that has gone costs nothing', async () => {
  const { journal, got, text, leave, ended } = stream(filledJournal(), {}, undefined, 1)
  await got(/: heartbeat\n\n: heartbeat\n\n/)
  leave()
  await ended
  const before = text()
  addEntry(journal, 4)
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(text(), before)
})
