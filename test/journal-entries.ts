// A journal with entries of requests that no server has had.
import { Journal } from '../src/control/journal.ts'
import { parseRequestHead } from '../src/http/protocol/request-head.ts'

/** With the entries 1 to 3. */
export function filledJournal(countMax = 100): Journal {
  const journal = new Journal({
    countMax,
    bytesMax: 100_000_000,
    clientBy: ['name'],
    decodeHead: parseRequestHead,
  })
  for (let number = 1; number <= 3; number += 1) addEntry(journal, number)
  return journal
}

/** Every third one is refused. */
export function addEntry(journal: Journal, number: number, client = 'A'): void {
  const isRefused = number % 3 === 0
  journal.record({
    startedMs: Date.UTC(2027, 0, 1) + number,
    durationMs: 1,
    service: 'blob',
    operation: 'Put Blob',
    writes: true,
    account: 'a',
    path: ['c', `b${number}`],
    headText: `PUT /a/c/b${number} HTTP/1.1\r\nHost: localhost\r\nx-lazuli-client: ${client}\r\n`,
    address: '127.0.0.1',
    connection: 1,
    identity: 'shared-key',
    requestId: `r-${number}`,
    status: isRefused ? 412 : 201,
    errorCode: isRefused ? 'ConditionNotMet' : undefined,
    notes: [],
  })
}
