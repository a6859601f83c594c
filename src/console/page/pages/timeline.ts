// The page Timeline.
import { html, type VNode } from '../library.ts'

export function TimelinePage(): VNode {
  return html`<h1>Timeline</h1>`
}
