// The frame around all pages: navigation, the state of the connection, the server's clock, and the choice of a theme.
import { isTokenNeeded } from './api/token.ts'
import { html, useEffect, useRef, type VNode } from './library.ts'
import { clock, serverNowMs } from './live/clock.ts'
import { connection } from './live/connection.ts'
import { raceCount } from './live/races.ts'
import { PAGES, type Page } from './pages.ts'
import { linkTo, place } from './router.ts'
import { theme, THEMES, type Theme } from './theme.ts'
import { TokenDialog } from './token-dialog.ts'
import { Badge } from './ui/badge.ts'
import { Button } from './ui/button.ts'
import { dateAndTime } from './ui/format.ts'
import { Icon, type IconName } from './ui/icon.ts'
import { Empty } from './ui/states.ts'
import { Toasts } from './ui/toasts.ts'

export function App(): VNode {
  const [own = '', ...rest] = place.value.path.split('/')
  const page = PAGES.find(({ path }) => path === own)
  return html`
    <a class="skip" href="#main" onClick=${skipToMain}>Skip to the page</a>
    <div class="frame">
      <${Side} page=${page} />
      <${Top} />
      <${Main} page=${page} rest=${rest.join('/')} />
    </div>
    ${isTokenNeeded.value && html`<${TokenDialog} />`}
    <${Toasts} />
  `
}

/** A link within the page would change the place. */
function skipToMain(event: Event): void {
  event.preventDefault()
  document.getElementById('main')?.focus()
}

/** There is no room for more. */
const BADGE_MAX = 99

function Side({ page }: { readonly page: Page | undefined }): VNode {
  return html`<nav class="side" aria-label="Pages">
    <a class="brand" href="#/" aria-label="Lazuli, overview">
      <img src="/console/page/icon.svg" alt="" width="26" height="26" /><span>Lazuli</span>
    </a>
    <ul>
      ${PAGES.map(
        (each) =>
          html`<li>
            <a href=${linkTo(each.path)} aria-current=${each === page ? 'page' : undefined}>
              <${Icon} name=${each.icon} /><span>${each.title}</span>
              ${each.path === 'races' && raceCount.value > 0 && html`<${Badge} tone="bad">${raceCount.value > BADGE_MAX ? `${BADGE_MAX}+` : raceCount.value}<//>`}
            </a>
          </li>`,
      )}
      <li>
        <a href="/docs/"><${Icon} name="book" /><span>Docs</span></a>
      </li>
    </ul>
  </nav>`
}

function Top(): VNode {
  return html`<header class="top">
    <${Connection} />
    <${Clock} />
    <${ThemeButton} />
  </header>`
}

const STATES = {
  connecting: ['warn', 'Connecting'],
  live: ['good', 'Live'],
  disconnected: ['bad', 'Disconnected, trying again'],
  refused: ['bad', 'Not allowed'],
} as const

function Connection(): VNode {
  const [tone, text] = STATES[connection.value]
  return html`<span class=${`connection ${tone}`} role="status"
    ><span class="dot" aria-hidden="true"></span>${text}</span
  >`
}

function Clock(): VNode | undefined {
  const state = clock.value
  const nowMs = serverNowMs.value
  if (state === undefined || nowMs === undefined) return undefined
  return html`<a class="clock" href="#/control" title="The server's clock (UTC)">
    <${Icon} name="clock" />${dateAndTime(new Date(nowMs).toISOString())}
    ${state.isHeld && html`<${Badge} tone="warn">held<//>`}
  </a>`
}

const THEME_ICONS: Readonly<Record<Theme, IconName>> = {
  system: 'system',
  light: 'light',
  dark: 'dark',
}

function ThemeButton(): VNode {
  const next = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? 'system'
  const label = `Theme: ${theme.value}. Change to ${next}`
  return html`<${Button}
    icon=${THEME_ICONS[theme.value]}
    kind="quiet"
    label=${label}
    onClick=${() => (theme.value = next)}
  />`
}

function Main({ page, rest }: { readonly page: Page | undefined; readonly rest: string }): VNode {
  const ref = useRef<HTMLElement | null>(null)
  const isFirst = useRef(true)
  useEffect(() => {
    document.title = page === undefined || page.path === '' ? 'Lazuli' : `${page.title} – Lazuli`
    // Whoever follows a link with the keyboard continues in the new page.
    if (!isFirst.current) ref.current?.focus({ preventScroll: true })
    isFirst.current = false
    scrollTo(0, 0)
  }, [page])
  return html`<main id="main" tabindex="-1" ref=${ref}>
    ${page === undefined ? html`<${Empty} icon="warning" title="There is no such page">Choose one from the navigation.<//>` : html`<${page.view} key=${page.path} rest=${rest} />`}
  </main>`
}
