// The journal: as a list, one entry, and as a stream of server-sent events (HTML Living Standard, 9.2).
import type { Journal, JournalFilter } from '../../../control/journal.ts'
import { sentOf } from '../../../control/sent.ts'
import { timelineOf } from '../../../control/timeline.ts'
import type { Exchange } from '../../../http/protocol/exchange.ts'
import { done, journalDetail, journalPage, timeline } from './answers.ts'
import { ApiError, route, streamRoute, type ApiRoute } from './route.ts'
import { flag, integer, optional, text } from './schema.ts'
import { streamEntries, type StreamTimes } from './stream.ts'

export type { StreamTimes }

const COUNT_MAX = 100_000
const COUNT_BY_DEFAULT = 1_000
const TIMELINE_MAX = 2_000
const TIMELINE_BY_DEFAULT = 200

const filter = {
  since: optional(integer(0), 'Only entries with a greater id.'),
  resource: optional(text, 'The resource, or a folder above it: /account/container.'),
  operation: optional(text, 'Such as Put Blob.'),
  client: optional(text, 'As the journal names it.'),
  status: optional(text, 'Such as 412, or the name of an NTSTATUS.'),
  conflicts: optional(
    flag,
    'true: only requests that were refused because of what somebody else did.',
  ),
}

// prettier-ignore
export function journalRoutes(journal: Journal, times: StreamTimes): readonly ApiRoute[] {
  return [
    route({ method: 'GET', path: 'journal', description: 'What happened to the last requests.', answer: journalPage,
      query: { ...filter, countMax: optional(integer(1, COUNT_MAX), `Only the newest ones; by default ${COUNT_BY_DEFAULT}.`) },
      run: ({ query }) => ({
        entries: journal.list({ countMax: COUNT_BY_DEFAULT, ...query }),
        lastId: journal.lastId,
        droppedCount: journal.droppedCount,
      }) }),
    route({ method: 'DELETE', path: 'journal', description: 'Forgets all entries; their numbers go on. Races are only found in what is left.', answer: done,
      run: () => {
        journal.clear()
        return {}
      } }),
    streamRoute({ path: 'journal/stream',
      description: 'New entries as server-sent events, each with its id. Last-Event-ID or since resumes; the event "dropped" says how many entries had left the memory before they were sent.',
      query: filter,
      run: (query, exchange) => streamEntries({ journal, filter: query, from: startOf(query, exchange), times }, exchange) }),
    route({ method: 'GET', path: 'journal/{id}', description: 'One entry.', answer: journalDetail,
      run: ({ params }) => {
        const entry = journal.find(Number(params.id))
        if (entry === undefined) throw new ApiError(404, `the journal has no entry ${params.id}; its entries are ${journal.droppedCount + 1} to ${journal.lastId}`)
        const sent = sentOf(entry)
        return { ...journal.view(entry), ...(sent !== undefined && { sent }) }
      } }),
    route({ method: 'GET', path: 'timeline', description: 'What happened to a resource, and who held it when.', answer: timeline,
      query: {
        resource: optional(text, 'The resource, or a folder above it; by default everything: /'),
        countMax: optional(integer(1, TIMELINE_MAX), `Only the newest entries; by default ${TIMELINE_BY_DEFAULT}.`),
      },
      run: ({ query: { resource = '/', countMax = TIMELINE_BY_DEFAULT } }) => timelineOf(journal, resource, countMax) }),
  ]
}

/** A browser's EventSource sends the id of the last event when it connects again. */
function startOf({ since }: JournalFilter, { head }: Exchange): number | undefined {
  const last = head.headers['last-event-id']
  return typeof last === 'string' && /^\d{1,15}$/.test(last) ? Number(last) : since
}
