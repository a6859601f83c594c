// What the pages of all services use: dialogs with a form, pairs of names and values, and the bar that offers to undo.
import { messageOf, post } from '../page/api/call.ts'
import { html, signal, useState, type ComponentChildren, type VNode } from '../page/library.ts'
import { ActionButton, Button } from '../page/ui/button.ts'
import { Dialog } from '../page/ui/dialog.ts'
import { Failure } from '../page/ui/states.ts'

type FormDialogProps = {
  readonly title: string
  readonly action: string
  readonly isDanger?: boolean
  readonly isWide?: boolean
  /** The dialog closes when it has succeeded. */
  run(): Promise<unknown>
  onClose(): void
  readonly children?: ComponentChildren
}

export function FormDialog(props: FormDialogProps): VNode {
  const { title, action, isDanger, isWide, run, onClose, children } = props
  const [failure, setFailure] = useState<string | undefined>(undefined)
  const [isRunning, setRunning] = useState(false)
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    setRunning(true)
    try {
      await run()
      onClose()
    } catch (error) {
      setFailure(messageOf(error))
    } finally {
      setRunning(false)
    }
  }
  return html`<${Dialog} title=${title} onClose=${onClose} isWide=${isWide}>
    <form class="form" onSubmit=${submit}>
      ${failure !== undefined && html`<${Failure}>${failure}<//>`} ${children}
      <div class="form-end">
        <${Button} onClick=${onClose}>Cancel<//>
        <${Button}
          type="submit"
          kind=${isDanger === true ? 'danger' : 'primary'}
          isDisabled=${isRunning}
          >${action}<//
        >
      </div>
    </form>
  <//>`
}

export type Pair = { readonly name: string; readonly value: string }

type PairsProps = {
  readonly label: string
  readonly pairs: readonly Pair[]
  readonly onChange: (pairs: readonly Pair[]) => void
}

export function Pairs({ label, pairs, onChange }: PairsProps): VNode {
  const change = (at: number, part: Partial<Pair>): void =>
    onChange(pairs.map((each, index) => (index === at ? { ...each, ...part } : each)))
  const input = (at: number, field: keyof Pair, value: string): VNode =>
    html`<input
      aria-label=${`${label} ${at + 1}: ${field}`}
      placeholder=${field}
      value=${value}
      autocomplete="off"
      spellcheck=${false}
      onInput=${(event: Event) => change(at, { [field]: (event.target as HTMLInputElement).value })}
    />`
  return html`<div class="pairs" role="group" aria-label=${label}>
    ${pairs.map(
      ({ name, value }, at) =>
        html`<div class="pair" key=${at}>
          ${input(at, 'name', name)} ${input(at, 'value', value)}
          <${Button}
            icon="trash"
            kind="quiet"
            label=${`Remove ${name || 'this row'}`}
            onClick=${() => onChange(pairs.filter((_, index) => index !== at))}
          />
        </div>`,
    )}
    <${Button} icon="plus" onClick=${() => onChange([...pairs, { name: '', value: '' }])}>Add<//>
  </div>`
}

export function recordOf(pairs: readonly Pair[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    pairs.filter(({ name }) => name !== '').map(({ name, value }) => [name, value]),
  )
}

type PairsFormProps = {
  readonly label: string
  readonly known: Readonly<Record<string, string>>
  save(record: Readonly<Record<string, string>>): Promise<unknown>
}

/** Pairs with a button that saves them. Its parent gives it another key when what is known changes. */
export function PairsForm({ label, known, save }: PairsFormProps): VNode {
  const [pairs, setPairs] = useState<readonly Pair[]>(() =>
    Object.entries(known).map(([name, value]) => ({ name, value })),
  )
  const isChanged = JSON.stringify(recordOf(pairs)) !== JSON.stringify(known)
  return html`<${Pairs} label=${label} pairs=${pairs} onChange=${setPairs} />
    <div class="form-end">
      <${ActionButton}
        kind="primary"
        isDisabled=${!isChanged}
        done="Saved"
        run=${() => save(recordOf(pairs))}
        >Save<//
      >
    </div>`
}

type Facts = readonly (readonly [string, unknown])[]

/** Facts without a value are left out. */
export function FactList({ facts }: { readonly facts: Facts }): VNode {
  return html`<dl class="rows">
    ${facts
      .filter(
        ([, value]) => value !== undefined && value !== null && value !== '' && value !== false,
      )
      .map(
        ([name, value]) =>
          html`<dt>${name}</dt>
            <dd>${value}</dd>`,
      )}
  </dl>`
}

type Undo = { readonly text: string; readonly undo: (() => Promise<unknown>) | undefined }

const undoable = signal<Undo | undefined>(undefined)

/** `undo`: left out where it can't be undone. */
export function offerUndo(text: string, undo?: () => Promise<unknown>): void {
  undoable.value = { text, undo }
}

export function UndoBar(): VNode {
  const { text, undo } = undoable.value ?? {}
  const run = async (): Promise<void> => {
    await undo?.()
    undoable.value = undefined
  }
  return html`<div role="status" class=${text === undefined ? 'undo-bar empty-bar' : 'undo-bar'}>
    ${
      text !== undefined &&
      html`<span>${text}</span>
        ${undo !== undefined && html`<${ActionButton} icon="back" done="Restored" run=${run}>Undo<//>`}
        <${Button}
          icon="close"
          kind="quiet"
          label="Dismiss"
          onClick=${() => (undoable.value = undefined)}
        />`
    }
  </div>`
}

export type SasTerms = {
  readonly service: string
  readonly account: string
  readonly path: string
  readonly permissions: string
  readonly expiresInSeconds: number
  readonly snapshot?: string
  readonly versionId?: string
}

export async function makeSas(terms: SasTerms): Promise<string> {
  const { url } = await post<{ readonly url: string }>('sas', terms)
  return reachable(url)
}

const LOOPBACK = /^(127\.|localhost$|\[::1\])/

/** The server knows its own address; whoever sees this page from elsewhere knows another one. */
export function reachable(text: string): string {
  const url = new URL(text)
  if (LOOPBACK.test(url.hostname) && !LOOPBACK.test(location.hostname))
    url.hostname = location.hostname
  return url.href
}
