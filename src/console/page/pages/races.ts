// The page Races.
import { html, type VNode } from '../library.ts'

export function RacesPage(): VNode {
  return html`<h1>Races</h1>`
}
