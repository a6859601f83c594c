// Labelled controls of forms.
import { html, useMemo, type VNode } from '../library.ts'

type FieldProps = {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly placeholder?: string
  readonly hint?: string
  readonly type?: 'text' | 'number' | 'password' | 'datetime-local' | 'search'
  readonly choices?: readonly (string | { readonly value: string; readonly title: string })[]
  /** Texts that the browser proposes while somebody types. */
  readonly proposals?: readonly string[]
  readonly isRequired?: boolean
  /** Only screen readers read the label; the placeholder says it to others. */
  readonly hasHiddenLabel?: boolean
}

let nextId = 1

export function Field(props: FieldProps): VNode {
  const { label, value, onChange, hint, choices, hasHiddenLabel } = props
  const id = useMemo(() => `field-${nextId++}`, [])
  const onInput = (event: Event): void => onChange((event.target as HTMLInputElement).value)
  return html`<div class="field">
    <label for=${id} class=${hasHiddenLabel === true ? 'visually-hidden' : ''}>${label}</label>
    ${choices === undefined ? input(props, id, onInput) : select(id, value, choices, onInput)}
    ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
  </div>`
}

function input(props: FieldProps, id: string, onInput: (event: Event) => void): VNode {
  const { value, placeholder, hint, type = 'text', proposals, isRequired } = props
  return html`<input
      id=${id}
      type=${type}
      value=${value}
      placeholder=${placeholder}
      required=${isRequired === true}
      list=${proposals === undefined ? undefined : `${id}-list`}
      aria-describedby=${hint === undefined ? undefined : `${id}-hint`}
      autocomplete="off"
      spellcheck=${false}
      onInput=${onInput}
    />
    ${proposals && html`<datalist id=${`${id}-list`}>${proposals.map((each) => html`<option value=${each}></option>`)}</datalist>`}`
}

function select(
  id: string,
  value: string,
  choices: NonNullable<FieldProps['choices']>,
  onInput: (event: Event) => void,
): VNode {
  return html`<select id=${id} value=${value} onChange=${onInput}>
    ${choices.map((choice) => {
      const { value: own, title } =
        typeof choice === 'string' ? { value: choice, title: choice } : choice
      return html`<option value=${own} selected=${own === value}>${title}</option>`
    })}
  </select>`
}

type CheckProps = {
  readonly label: string
  readonly isChecked: boolean
  readonly onChange: (isChecked: boolean) => void
}

export function Check({ label, isChecked, onChange }: CheckProps): VNode {
  const change = (event: Event): void => onChange((event.target as HTMLInputElement).checked)
  return html`<label class="check"
    ><input type="checkbox" checked=${isChecked} onChange=${change} />${label}</label
  >`
}
