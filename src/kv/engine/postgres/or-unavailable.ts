// Above PostgreSQL, a database that is away is a store that is.
import { DatabaseUnavailable } from '../../../postgres/client.ts'
import { StoreUnavailable } from '../unavailable.ts'

export async function orUnavailable<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (error) {
    throw error instanceof DatabaseUnavailable ? new StoreUnavailable(error.message, error) : error
  }
}
