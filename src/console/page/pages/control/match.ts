// What a barrier or a fault applies to, as fields of a form.
import type { Match } from '../../../../control/api.ts'
import { html, type VNode } from '../../library.ts'
import { entries } from '../../live/journal.ts'
import { Field } from '../../ui/field.ts'

export type MatchTexts = {
  readonly service: string
  readonly operation: string
  readonly path: string
  readonly client: string
}

export const NO_MATCH: MatchTexts = { service: '', operation: '', path: '', client: '' }

const SERVICES = ['blob', 'queue', 'table', 'file', 'smb']

type MatchFieldsProps = {
  readonly texts: MatchTexts
  readonly onChange: (texts: MatchTexts) => void
}

export function MatchFields({ texts, onChange }: MatchFieldsProps): VNode {
  const set = (name: keyof MatchTexts) => (value: string) => onChange({ ...texts, [name]: value })
  const seen = (of: (entry: (typeof entries.value)[number]) => string): readonly string[] =>
    [...new Set(entries.value.map(of))].sort()
  return html`<div class="form-row">
    <${Field}
      label="Service"
      value=${texts.service}
      onChange=${set('service')}
      choices=${[{ value: '', title: 'any' }, ...SERVICES]}
    />
    <${Field}
      label="Operation"
      value=${texts.operation}
      onChange=${set('operation')}
      placeholder="any"
      proposals=${seen(({ operation }) => operation)}
    />
    <${Field} label="Path" value=${texts.path} onChange=${set('path')} placeholder="/container/*" />
    <${Field}
      label="Client"
      value=${texts.client}
      onChange=${set('client')}
      placeholder="any"
      proposals=${seen(({ client }) => client.name)}
    />
  </div>`
}

/** undefined: everything matches. */
export function matchOf(texts: MatchTexts): Match | undefined {
  const given = Object.entries(texts).filter(([, value]) => value !== '')
  return given.length === 0 ? undefined : (Object.fromEntries(given) as Match)
}

export function matchText(match: Match | undefined): string {
  const given = Object.entries(match ?? {})
  return given.length === 0
    ? 'every request'
    : given.map(([name, value]) => `${name} ${value}`).join(', ')
}
