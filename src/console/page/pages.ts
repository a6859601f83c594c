// The pages of the console: a new one is a row here.
import type { VNode } from './library.ts'
import { BrowsePage } from '../browse/browse.ts'
import { ControlPage } from './pages/control.ts'
import { HeldPage } from './pages/held.ts'
import { JournalPage } from './pages/journal.ts'
import { OverviewPage } from './pages/overview.ts'
import { RacesPage } from './pages/races.ts'
import { TimelinePage } from './pages/timeline.ts'
import type { IconName } from './ui/icon.ts'

export type Page = {
  /** The first segment of its links; the overview has none. */
  readonly path: string
  readonly title: string
  readonly icon: IconName
  /** Gets what is behind its own segment. */
  readonly view: (props: { readonly rest: string }) => VNode
}

export const PAGES: readonly Page[] = [
  { path: '', title: 'Overview', icon: 'overview', view: OverviewPage },
  { path: 'browse', title: 'Browse', icon: 'browse', view: BrowsePage },
  { path: 'journal', title: 'Journal', icon: 'journal', view: JournalPage },
  { path: 'timeline', title: 'Timeline', icon: 'timeline', view: TimelinePage },
  { path: 'held', title: 'Held', icon: 'held', view: HeldPage },
  { path: 'races', title: 'Races', icon: 'races', view: RacesPage },
  { path: 'control', title: 'Control', icon: 'control', view: ControlPage },
]
