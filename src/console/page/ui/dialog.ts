// A dialog over the page. The browser's own <dialog> keeps the focus inside, and closes it with Escape.
import { html, useEffect, useMemo, useRef, type ComponentChildren, type VNode } from '../library.ts'
import { Button } from './button.ts'

type DialogProps = {
  readonly title: string
  readonly onClose: () => void
  /** Buttons at its end. */
  readonly actions?: ComponentChildren
  readonly isWide?: boolean
  readonly children?: ComponentChildren
}

let nextId = 1

export function Dialog({ title, onClose, actions, isWide, children }: DialogProps): VNode {
  const ref = useRef<HTMLDialogElement | null>(null)
  const titleId = useMemo(() => `dialog-${nextId++}`, [])
  useEffect(() => {
    ref.current?.showModal()
    return () => ref.current?.close()
  }, [])
  return html`<dialog
    ref=${ref}
    class=${isWide === true ? 'dialog wide' : 'dialog'}
    aria-labelledby=${titleId}
    onCancel=${(event: Event) => {
      event.preventDefault()
      onClose()
    }}
    onClick=${(event: Event) => event.target === ref.current && onClose()}
  >
    <div class="dialog-body">
      <header>
        <h2 id=${titleId}>${title}</h2>
        <${Button} icon="close" kind="quiet" label="Close" onClick=${onClose} />
      </header>
      ${children} ${actions && html`<footer>${actions}</footer>`}
    </div>
  </dialog>`
}

type ConfirmProps = {
  readonly title: string
  /** The button that does it. */
  readonly action: ComponentChildren
  readonly onClose: () => void
  readonly children?: ComponentChildren
}

/** Asks before something that can't be undone. */
export function ConfirmDialog({ title, action, onClose, children }: ConfirmProps): VNode {
  return html`<${Dialog}
    title=${title}
    onClose=${onClose}
    actions=${html`<${Button} onClick=${onClose}>Cancel<//>${action}`}
  >
    ${children}
  <//>`
}
