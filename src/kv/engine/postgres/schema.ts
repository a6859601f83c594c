// The tables and functions in the database, all in a schema of their own. The first node creates them; a later version adds
// steps, and functions get new names, so that nodes of two versions can run side by side.
import type { Connection } from '../../../postgres/client.ts'
import { COMMIT_FUNCTIONS } from './commit-function.ts'
import { HASH, HEAD } from './key-index.ts'
import { WRITER_FUNCTIONS } from './writer.ts'

const STEPS: readonly string[] = [
  `
  -- A record. Values of up to 8 KiB stay in the row: reading one is one page, and nothing is compressed.
  CREATE TABLE lazuli.kv (
    key bytea NOT NULL,
    value bytea NOT NULL,
    version bigint NOT NULL
  ) WITH (
    fillfactor = 80,
    toast_tuple_target = 8160,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_insert_scale_factor = 0.1,
    autovacuum_analyze_scale_factor = 0.2
  );
  ALTER TABLE lazuli.kv ALTER COLUMN value SET STORAGE EXTERNAL;
  CREATE UNIQUE INDEX kv_key ON lazuli.kv ((${HEAD('key')}), (${HASH('key')}));

  -- A running engine and its last commit, so that a commit whose answer was lost can be repeated safely. Only writers in
  -- this table can commit. The number is part of every version that its runner writes: it is never reused, and 2^21 of
  -- them fit into a version. The slot is part of every stamp: it is unique among those that run at the same time.
  CREATE TABLE lazuli.writer (
    number integer GENERATED ALWAYS AS IDENTITY (MAXVALUE 2097151 NO CYCLE) PRIMARY KEY,
    slot integer NOT NULL UNIQUE,
    call bigint NOT NULL DEFAULT 0,
    overtaken integer[] NOT NULL DEFAULT '{}',
    seen timestamptz NOT NULL DEFAULT now()
  ) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

  -- The form of the tables with the bytes of extents, if those are in the database: each extent has a table, so that
  -- removing it leaves nothing to vacuum. The longest row fills a page: nothing is moved out of line or compressed.
  CREATE TABLE lazuli.chunk (at bigint PRIMARY KEY, bytes bytea NOT NULL);
  ALTER TABLE lazuli.chunk ALTER COLUMN bytes SET STORAGE PLAIN;

  ${COMMIT_FUNCTIONS}
  ${WRITER_FUNCTIONS}
  `,
]

export const SCHEMA_VERSION = STEPS.length

/** Two nodes that start at once must not both create the schema. */
const SCHEMA_LOCK = '7596848735613349237'

/** Time to create or migrate the schema. */
const SCHEMA_MS_MAX = 600_000

export async function prepareSchema(connection: Connection): Promise<void> {
  const deadlineMs = performance.now() + SCHEMA_MS_MAX
  if ((await schemaVersion(connection, deadlineMs)) === SCHEMA_VERSION) return
  await connection.script('BEGIN; SET LOCAL statement_timeout = 0', deadlineMs)
  try {
    await connection.script(`SELECT pg_advisory_xact_lock(${SCHEMA_LOCK})`, deadlineMs)
    const current = await schemaVersion(connection, deadlineMs)
    if (current === 0) await connection.script(FIRST_STEP, deadlineMs)
    for (const step of STEPS.slice(current)) await connection.script(step, deadlineMs)
    await connection.script(`UPDATE lazuli.schema SET version = ${SCHEMA_VERSION}`, deadlineMs)
    await connection.script('COMMIT', deadlineMs)
  } catch (error) {
    connection.destroy()
    throw error
  }
}

const FIRST_STEP = `
  CREATE SCHEMA lazuli;
  CREATE TABLE lazuli.schema (version integer NOT NULL);
  INSERT INTO lazuli.schema VALUES (0);`

/** The database has no store. */
export class NoStore extends Error {}

/** For those who only read: creates nothing. */
export async function requireSchema(connection: Connection, deadlineMs: number): Promise<void> {
  const version = await schemaVersion(connection, deadlineMs)
  if (version === SCHEMA_VERSION) return
  throw new NoStore(
    version === 0
      ? 'The database has no store of Lazuli.'
      : `The database was written by an older version of Lazuli: its schema has version ${version}. Start a node once to update it.`,
  )
}

/** 0 if there is no schema yet. */
async function schemaVersion(connection: Connection, deadlineMs: number): Promise<number> {
  const [found] = await connection.run(FIND_SCHEMA, [], deadlineMs)
  if (found?.[0] !== 't') return 0
  const [row] = await connection.run(READ_VERSION, [], deadlineMs)
  const version = Number(row?.[0])
  if (version <= SCHEMA_VERSION) return version
  throw new NewerSchema(
    `The database was written by a newer version of Lazuli: its schema has version ${version}, this one knows ${SCHEMA_VERSION}.`,
  )
}

/** A later version of Lazuli has changed the database. */
export class NewerSchema extends Error {
  override readonly name = 'NewerSchema'
}

// Not `to_regclass`: it may answer from a cache of before the lock.
const FIND_SCHEMA = {
  name: 'find_schema',
  text: `SELECT EXISTS (SELECT FROM pg_catalog.pg_tables WHERE schemaname = 'lazuli' AND tablename = 'schema')`,
}
const READ_VERSION = { name: 'schema_version', text: 'SELECT version FROM lazuli.schema' }
