// The start of the console in the browser.
import { App } from './app.ts'
import { html, render } from './library.ts'
import { followClock } from './live/clock.ts'
import { followJournal } from './live/journal.ts'
import { followTraffic } from './live/traffic.ts'

render(html`<${App} />`, document.body)
followClock()
followTraffic()
void followJournal()
