// One race: what happened in steps, what to do about it, and a test that brings it about.
import type { Race } from '../../../../control/api.ts'
import { get } from '../../api/call.ts'
import { html, useState, type VNode } from '../../library.ts'
import { linkTo } from '../../router.ts'
import { remedyOf, stepsOf } from '../../timeline/story.ts'
import { versionsOf, versionsWithin, type Versions } from '../../timeline/versions.ts'
import { Badge } from '../../ui/badge.ts'
import { ActionButton, CopyButton } from '../../ui/button.ts'
import { Dialog } from '../../ui/dialog.ts'
import { timeOfDay } from '../../ui/format.ts'
import { Icon } from '../../ui/icon.ts'
import { ResourceLink } from '../../ui/resource.ts'
import { RaceTimeline, useTimelineAround } from './race-timeline.ts'

type RaceCardProps = {
  readonly race: Race
  /** The numbers of the picture beside it; left out: those of its own picture, or of the race alone. */
  readonly versions?: Versions | undefined
  /** The timeline is on this page. */
  readonly isHere?: boolean
  /** With a timeline of its own. */
  readonly hasPicture?: boolean
}

export function RaceCard({ race, versions: given, isHere, hasPicture }: RaceCardProps): VNode {
  const { kind, isHarmless, resource, entries } = race
  const [test, setTest] = useState<string | undefined>(undefined)
  const timeline = useTimelineAround(race, hasPicture === true)
  const versions = given ?? (timeline && versionsWithin(resource, timeline.entries, [race]))
  const steps = stepsOf(race, versions ?? versionsOf(entries, [race]))
  const last = entries.at(-1)?.id
  const load = async (): Promise<void> => {
    const { text } = await get<{ readonly text: string }>('races/test', { kind, entry: last })
    setTest(text)
  }
  return html`<article
    class=${`card race ${isHarmless ? 'harmless' : 'harmful'}`}
    aria-label=${`${kind} on ${resource}`}
  >
    <header>
      <h2>
        <${Icon} name="warning" />${title(kind)}${isHarmless && html` <${Badge}>harmless<//>`}
      </h2>
      ${isHere !== true && html`<${ResourceLink} resource=${resource} entry=${last} />`}
    </header>
    <ol class="steps">
      ${steps.map(
        ({ entry, text }, at) =>
          html`<li class=${at === steps.length - 1 ? 'wrong' : ''}>
            <span>${text}</span>
            <a class="muted" href=${linkTo(`journal/${entry.id}`)}
              >${entry.operation} at ${timeOfDay(entry.time)}</a
            >
          </li>`,
      )}
    </ol>
    ${timeline && html`<${RaceTimeline} race=${race} timeline=${timeline} versions=${versions} />`}
    <p class="remedy"><strong>What to do:</strong> ${remedyOf(race)}</p>
    <footer>
      ${isHere !== true && html`<a class="button plain" href=${linkTo('timeline', { resource, entry: String(last) })}><${Icon} name="timeline" />Timeline</a>`}
      <${ActionButton} icon="copy" run=${load}>Copy as a test<//>
    </footer>
    ${test !== undefined && html`<${TestDialog} text=${test} onClose=${() => setTest(undefined)} />`}
  </article>`
}

function title(kind: string): string {
  return kind.charAt(0).toUpperCase() + kind.slice(1)
}

function TestDialog({
  text,
  onClose,
}: {
  readonly text: string
  readonly onClose: () => void
}): VNode {
  return html`<${Dialog}
    title="A test of this race"
    isWide
    onClose=${onClose}
    actions=${html`<${CopyButton} kind="primary" label="Copy the test" text=${text}>Copy<//>`}
  >
    <p>
      It starts a server of its own and sends the same requests in the same order. It passes while
      the race happens.
    </p>
    <pre class="code" tabindex="0">${text}</pre>
  <//>`
}
