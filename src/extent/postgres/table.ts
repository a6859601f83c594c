// The table of an extent, and its statements. Names of tables can't be parameters, and COPY has none, so the numbers are
// part of the text.
import assert from 'node:assert/strict'
import type { Span } from '../reader.ts'
import { ROW_BYTES_MAX } from './row.ts'

const NAME = /^extent_(\d+)$/

function number(value: number): string {
  assert(Number.isSafeInteger(value))
  return String(value)
}

function tableOf(extent: number): string {
  return `lazuli.extent_${number(extent)}`
}

/** Undefined if it is not the name of an extent's table. */
export function extentOfTable(name: string): number | undefined {
  const digits = NAME.exec(name)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

/** Rows never change and are not deleted one by one, so there is nothing to vacuum. */
export function createExtentTable(extent: number): string {
  return `CREATE TABLE ${tableOf(extent)} (LIKE lazuli.chunk INCLUDING ALL) WITH (autovacuum_enabled = false)`
}

export function dropTable(extent: number): string {
  return `DROP TABLE IF EXISTS ${tableOf(extent)}`
}

export const LIST_TABLES = {
  name: 'list_extents',
  text: `SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = 'lazuli' AND tablename LIKE 'extent\\_%'`,
}

export function copyRowsIn(extent: number): string {
  return `COPY ${tableOf(extent)} (at, bytes) FROM STDIN (FORMAT binary)`
}

/** The rows that have bytes of the span, and maybe some before it. */
export function copyRowsOut({ extent = 0, offset, lengthBytes }: Span): string {
  const [after, before] = [offset - ROW_BYTES_MAX, offset + lengthBytes].map(number)
  return `COPY (SELECT at, bytes FROM ${tableOf(extent)} WHERE at > ${after} AND at < ${before} ORDER BY at) TO STDOUT (FORMAT binary)`
}

/** Where the last row ends. */
export function copyEndOut(extent: number): string {
  return `COPY (SELECT at + length(bytes) FROM ${tableOf(extent)} ORDER BY at DESC LIMIT 1) TO STDOUT (FORMAT binary)`
}
