// Entities of a table as they are exported: JSON that gives the same entities again.
import type { OwnAnswer } from './own-client.ts'
import type { SeedEntity } from './seed-form.ts'

type Ask = (query: Readonly<Record<string, string | undefined>>) => Promise<OwnAnswer>

export async function* exportedEntities(ask: Ask): AsyncGenerator<SeedEntity> {
  let next: Readonly<Record<string, string | undefined>> | undefined = {}
  while (next !== undefined) {
    const { headers, body }: OwnAnswer = await ask(next)
    yield* entitiesIn(body.toString('utf8'))
    const partition = headers.get('x-ms-continuation-nextpartitionkey')
    const row = headers.get('x-ms-continuation-nextrowkey')
    next = partition === undefined ? undefined : { NextPartitionKey: partition, NextRowKey: row }
  }
}

/** A number that JSON would take for an integer. */
class WholeDouble {
  readonly value: number

  constructor(value: number) {
    this.value = value
  }
}

function entitiesIn(text: string): readonly SeedEntity[] {
  const revive = (_: string, value: unknown, { source }: { source?: string }): unknown =>
    typeof value === 'number' && Number.isInteger(value) && /[.eE]/.test(source ?? '')
      ? new WholeDouble(value)
      : value
  const { value } = JSON.parse(text, revive as (key: string, value: unknown) => unknown) as {
    value: readonly Record<string, unknown>[]
  }
  return value.map(exported)
}

function exported(entity: Record<string, unknown>): SeedEntity {
  const fields = Object.entries(entity).flatMap(([name, value]) => {
    if (name.startsWith('odata.') || /^Timestamp(@|$)/.test(name)) return []
    if (!(value instanceof WholeDouble)) return [[name, value]]
    return [
      [`${name}@odata.type`, 'Edm.Double'],
      [name, value.value],
    ]
  })
  return Object.fromEntries(fields) as SeedEntity
}
