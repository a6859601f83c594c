// The journal as programs see it.
import type { JournalApi } from './api.ts'
import type { Journal } from './journal.ts'

/** `whyNone`: what the methods of a server without a journal throw. */
export function journalApi(journal: Journal | undefined, whyNone: string): JournalApi {
  const known = (): Journal => {
    if (journal === undefined) throw new Error(whyNone)
    return journal
  }
  return {
    list: (filter) => known().list(filter),
    listen: (listener, filter = {}) => {
      const kept = known()
      return kept.listen((entry) => {
        if (entry.id <= (filter.since ?? 0) || !kept.matches(entry, filter)) return
        const view = kept.view(entry)
        // An error of the listener is not one of the request that it hears of.
        queueMicrotask(() => listener(view))
      })
    },
    clear: () => known().clear(),
  }
}
