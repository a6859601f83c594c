// The package azure-storage with promises instead of callbacks. It was deprecated in 2020 and uses version 2018-03-28,
// but many programs still use it.
import assert from 'node:assert/strict'
import azure from 'azure-storage'

export type Callback<T> = (error: Error, result: T) => void

/** The result that the call passes to its callback. */
export function call<T>(start: (callback: Callback<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    start((error, result) => {
      if (error) reject(error)
      else resolve(result)
    })
  })
}

/** Asserts that the call fails with this status and code: `412 UpdateConditionNotSatisfied`. */
export async function refused<T>(
  expected: string,
  start: (callback: Callback<T>) => void,
): Promise<void> {
  await assert.rejects(call(start), (error: azure.StorageError) => {
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

/** The types of the package do not permit the first token to be missing. */
export const FIRST_PAGE = null as unknown as azure.TableService.TableContinuationToken
