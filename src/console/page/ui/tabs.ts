// Tabs, as the ARIA Authoring Practices describe them: the arrow keys go from one to the next.
import { html, useRef, type ComponentChildren, type VNode } from '../library.ts'

export type Tab<Id extends string> = {
  readonly id: Id
  readonly title: string
  /** Shown behind the title. */
  readonly count?: number | undefined
}

type TabsProps<Id extends string> = {
  readonly label: string
  readonly tabs: readonly Tab<Id>[]
  readonly selected: Id
  readonly onSelect: (id: Id) => void
  /** What the selected tab shows. */
  readonly children?: ComponentChildren
}

const STEPS: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowLeft: -1 }

export function Tabs<Id extends string>(props: TabsProps<Id>): VNode {
  const { label, tabs, selected, onSelect, children } = props
  const bar = useRef<HTMLElement | null>(null)
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = STEPS[event.key]
    if (step === undefined) return
    const at = tabs.findIndex(({ id }) => id === selected)
    const next = (at + step + tabs.length) % tabs.length
    event.preventDefault()
    onSelect(tabs[next]?.id ?? selected)
    bar.current?.querySelectorAll<HTMLElement>('[role=tab]')[next]?.focus()
  }
  return html`<div class="tabs">
    <div role="tablist" aria-label=${label} ref=${bar} onKeyDown=${onKeyDown}>
      ${tabs.map(
        ({ id, title, count }) =>
          html`<button
            type="button"
            role="tab"
            id=${`tab-${id}`}
            aria-controls=${`panel-${selected}`}
            aria-selected=${String(id === selected)}
            tabindex=${id === selected ? 0 : -1}
            onClick=${() => onSelect(id)}
          >
            ${title}${count !== undefined && html` <span class="count">${count}</span>`}
          </button>`,
      )}
    </div>
    <div role="tabpanel" id=${`panel-${selected}`} aria-labelledby=${`tab-${selected}`}>
      ${children}
    </div>
  </div>`
}
