// The page Control.
import { html, type VNode } from '../library.ts'

export function ControlPage(): VNode {
  return html`<h1>Control</h1>`
}
