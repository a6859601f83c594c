// The page Held.
import { html, type VNode } from '../library.ts'

export function HeldPage(): VNode {
  return html`<h1>Held</h1>`
}
