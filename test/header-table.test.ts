import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HEADER_ROWS } from '../src/http/door/header-table.ts'
import { BLOB_OPERATIONS } from '../src/rest/blob/operations.ts'
import { FILE_OPERATIONS } from '../src/rest/file/operations.ts'
import { QUEUE_OPERATIONS } from '../src/rest/queue/operations.ts'
import { TABLE_OPERATIONS } from '../src/rest/table/operations.ts'

test('every operation in the table of header versions exists', () => {
  const tables = [BLOB_OPERATIONS, FILE_OPERATIONS, QUEUE_OPERATIONS, TABLE_OPERATIONS]
  const known = new Set(tables.flatMap((table) => table.map(({ name }) => name)))
  for (const { headers, on = [] } of HEADER_ROWS) {
    for (const name of on) assert(known.has(name), `${name} of ${headers.join()}`)
  }
})
