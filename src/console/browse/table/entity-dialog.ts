// Inserts, changes and deletes an entity. A change is written only over the state that was shown; if somebody else was faster, the
// dialog shows what is there now.
import { html, useState, type VNode } from '../../page/library.ts'
import { ActionButton, Button } from '../../page/ui/button.ts'
import { Dialog } from '../../page/ui/dialog.ts'
import { Field } from '../../page/ui/field.ts'
import { messageOf } from '../../page/api/call.ts'
import { Failure } from '../../page/ui/states.ts'
import { FormDialog, offerUndo } from '../parts.ts'
import { isCode, type Area } from '../storage.ts'
import { EDM_TYPES, type Entity, type Property } from './entity.ts'
import { current, insert, remove as removeEntity, replace } from './entity-requests.ts'
import { RaceDialog, type Race } from './race-dialog.ts'

type DialogProps = { readonly area: Area; readonly table: string; onClose(): void; onDone(): void }

export function NewEntityDialog({ area, table, onClose, onDone }: DialogProps): VNode {
  const [partitionKey, setPartitionKey] = useState('')
  const [rowKey, setRowKey] = useState('')
  const [properties, setProperties] = useState<readonly Property[]>([])
  const run = (): Promise<unknown> =>
    insert(area, table, { partitionKey, rowKey }, properties).then(onDone)
  return html`<${FormDialog}
    title="Insert an entity"
    action="Insert"
    isWide=${true}
    run=${run}
    onClose=${onClose}
  >
    <div class="form-row">
      <${Field} label="PartitionKey" value=${partitionKey} onChange=${setPartitionKey} />
      <${Field} label="RowKey" value=${rowKey} onChange=${setRowKey} />
    </div>
    <${Properties} properties=${properties} onChange=${setProperties} />
  <//>`
}

export function EntityDialog({
  area,
  table,
  entity: given,
  onClose,
  onDone,
}: DialogProps & { readonly entity: Entity }): VNode {
  const [entity, setEntity] = useState(given)
  const [properties, setProperties] = useState(given.properties)
  const [race, setRace] = useState<Race | undefined>(undefined)
  const [failure, setFailure] = useState<string | undefined>(undefined)
  const finish = (): void => {
    onDone()
    onClose()
  }
  const run = async (work: () => Promise<unknown>): Promise<void> => {
    try {
      await work()
      finish()
    } catch (error) {
      if (!isCode(error, 'UpdateConditionNotSatisfied', 'ResourceNotFound'))
        return setFailure(messageOf(error))
      setRace({ before: entity, mine: properties, theirs: await current(area, table, entity) })
    }
  }
  const remove = async (): Promise<void> => {
    await removeEntity(area, table, entity)
    offerUndo(`Deleted ${entity.partitionKey} ${entity.rowKey}`, () =>
      insert(area, table, entity, entity.properties),
    )
  }
  const reload = (theirs: Entity): void => {
    setEntity(theirs)
    setProperties(theirs.properties)
    setRace(undefined)
  }
  if (race !== undefined)
    return html`<${RaceDialog}
      area=${area}
      table=${table}
      race=${race}
      onReload=${reload}
      onClose=${onClose}
      onDone=${finish}
    />`
  return html`<${Dialog}
    title=${`${entity.partitionKey} · ${entity.rowKey}`}
    isWide=${true}
    onClose=${onClose}
  >
    <form
      class="form"
      onSubmit=${(event: Event) => (event.preventDefault(), void run(() => replace(area, table, entity, properties, entity.etag)))}
    >
      ${failure !== undefined && html`<${Failure}>${failure}<//>`}
      <p class="muted">ETag <code>${entity.etag}</code></p>
      <${Properties} properties=${properties} onChange=${setProperties} />
      <div class="form-end">
        <${ActionButton} icon="trash" kind="danger" run=${() => run(remove)}>Delete<//>
        <span class="spring"></span>
        <${Button} onClick=${onClose}>Cancel<//>
        <${Button} type="submit" kind="primary">Save<//>
      </div>
    </form>
  <//>`
}

type PropertiesProps = {
  readonly properties: readonly Property[]
  onChange(properties: readonly Property[]): void
}

function Properties({ properties, onChange }: PropertiesProps): VNode {
  const change = (at: number, part: Partial<Property>): void =>
    onChange(properties.map((each, index) => (index === at ? { ...each, ...part } : each)))
  const valueOf = (event: Event): string => (event.target as HTMLInputElement).value
  return html`<div class="pairs" role="group" aria-label="Properties">
    ${properties.map(
      ({ name, type, value }, at) =>
        html`<div class="pair typed" key=${at}>
          <input
            aria-label=${`Property ${at + 1}: name`}
            placeholder="name"
            value=${name}
            spellcheck=${false}
            autocomplete="off"
            onInput=${(event: Event) => change(at, { name: valueOf(event) })}
          />
          <select
            aria-label=${`Type of ${name || 'the property'}`}
            value=${type}
            onChange=${(event: Event) => change(at, { type: EDM_TYPES.find((each) => each === valueOf(event)) ?? 'String' })}
          >
            ${EDM_TYPES.map((each) => html`<option value=${each} selected=${each === type}>${each}</option>`)}
          </select>
          <textarea
            rows="1"
            aria-label=${`Value of ${name || 'the property'}`}
            value=${value}
            spellcheck=${false}
            onInput=${(event: Event) => change(at, { value: valueOf(event) })}
          ></textarea>
          <${Button}
            icon="trash"
            kind="quiet"
            label=${`Remove ${name || 'the property'}`}
            onClick=${() => onChange(properties.filter((_, index) => index !== at))}
          />
        </div>`,
    )}
    <${Button}
      icon="plus"
      onClick=${() => onChange([...properties, { name: '', type: 'String', value: '' }])}
      >Add a property<//
    >
  </div>`
}
