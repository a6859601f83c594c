// Small marks: the status of a request, a conflict, a kind.
import { html, type ComponentChildren, type VNode } from '../library.ts'

export type Tone = 'neutral' | 'good' | 'warn' | 'bad' | 'info'

export function Badge(props: {
  readonly tone?: Tone
  readonly children?: ComponentChildren
}): VNode {
  return html`<span class=${`badge ${props.tone ?? 'neutral'}`}>${props.children}</span>`
}

type Outcome = {
  readonly status: number | string
  readonly errorCode?: string
  readonly isConflict?: boolean
}

export function toneOf({ status, errorCode, isConflict }: Outcome): Tone {
  if (isConflict === true) return 'bad'
  if (errorCode === undefined && (typeof status === 'string' || (status > 0 && status < 400)))
    return 'good'
  return 'warn'
}

/** The status of a request: of HTTP, or the name of an NTSTATUS. */
export function StatusBadge({ outcome }: { readonly outcome: Outcome }): VNode {
  const { status } = outcome
  return html`<${Badge} tone=${toneOf(outcome)}>${status === 0 ? 'no answer' : status}<//>`
}
