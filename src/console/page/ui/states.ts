// What a page shows instead of what it is for: it is loading, there is nothing, it could not be loaded.
import { html, type ComponentChildren, type VNode } from '../library.ts'
import type { Answer } from '../live/query.ts'
import { Icon, type IconName } from './icon.ts'

type EmptyProps = {
  readonly icon?: IconName
  readonly title: string
  /** What to do, so that there is something. */
  readonly children?: ComponentChildren
}

export function Empty({ icon = 'done', title, children }: EmptyProps): VNode {
  return html`<div class="empty">
    <${Icon} name=${icon} />
    <p class="empty-title">${title}</p>
    ${children && html`<div class="empty-text">${children}</div>`}
  </div>`
}

export function Loading({ what = 'Loading' }: { readonly what?: string }): VNode {
  return html`<div class="loading" role="status">
    <span class="spinner" aria-hidden="true"></span>${what} …
  </div>`
}

export function Failure({ children }: { readonly children?: ComponentChildren }): VNode {
  return html`<div class="failure" role="alert">
    <${Icon} name="warning" /><span>${children}</span>
  </div>`
}

/** Shows a loaded value, also an old one while newer ones can't be had. */
export function shown<T>(answer: Answer<T>, view: (value: T) => unknown): unknown {
  const { value, failure } = answer
  if (value === undefined)
    return failure === undefined ? html`<${Loading} />` : html`<${Failure}>${failure}<//>`
  return html`${failure !== undefined && html`<${Failure}>${failure}<//>`}${view(value)}`
}
