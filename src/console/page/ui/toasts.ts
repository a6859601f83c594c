// The place of the toasts. Screen readers read what appears in it.
import { html, type VNode } from '../library.ts'
import { Button } from './button.ts'
import { dismiss, toasts } from './toast.ts'

export function Toasts(): VNode {
  return html`<div class="toasts" role="status" aria-live="polite">
    ${toasts.value.map(
      ({ id, text, kind }) =>
        html`<div class=${`toast ${kind}`} key=${id}>
          <span>${text}</span>
          <${Button} icon="close" kind="quiet" label="Dismiss" onClick=${() => dismiss(id)} />
        </div>`,
    )}
  </div>`
}
