// What steers the server: its clock, barriers, faults, and the state of the whole store.
import { html, type VNode } from '../library.ts'
import { Barriers } from './control/barriers.ts'
import { Clock } from './control/clock.ts'
import { Faults } from './control/faults.ts'
import { Snapshots } from './control/snapshots.ts'
import { States } from './control/states.ts'

export function ControlPage(): VNode {
  return html`
    <h1>Control</h1>
    <div class="control"><${Clock} /><${Snapshots} /></div>
    <${Barriers} />
    <${Faults} />
    <${States} />
  `
}
