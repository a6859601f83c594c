// The package azure-storage as one calls it today: its callbacks as promises. It was deprecated in 2020 and
// speaks 2018-03-28, and a great many programs still have it.
import assert from 'node:assert/strict'
import azure from 'azure-storage'

export type Callback<T> = (error: Error, result: T) => void

/** What the call gives to its callback. */
export function asked<T>(call: (callback: Callback<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    call((error, result) => {
      if (error) reject(error)
      else resolve(result)
    })
  })
}

/** The call must fail, with this status and this code: `412 UpdateConditionNotSatisfied`. */
export async function refused<T>(
  expected: string,
  call: (callback: Callback<T>) => void,
): Promise<void> {
  await assert.rejects(asked(call), (error: azure.StorageError) => {
    assert.equal(`${error.statusCode} ${error.code}`, expected, error.message)
    return true
  })
}

export type Properties = Readonly<Record<string, unknown>>
export type Metadata = { readonly '.metadata': { readonly etag: string } }
export type Found = Metadata &
  Readonly<Record<string, { readonly $?: string; readonly _: unknown }>>

const edm = azure.TableUtilities.entityGenerator

export function entity(rowKey: string, properties: Properties = {}, partitionKey = 'p') {
  return { PartitionKey: edm.String(partitionKey), RowKey: edm.String(rowKey), ...properties }
}

/** The package leaves the first token out of its types. */
export const FIRST_PAGE = null as unknown as azure.TableService.TableContinuationToken
