// Writers: the engines that are open now. Only they can commit, so a node that was taken for dead can do no harm when it
// comes back.
import type { Pool } from '../../../postgres/pool.ts'
import { LANE } from './commit-function.ts'

/** Engines that can be open at the same time. */
export const SLOT_COUNT = 64

export type Writer = { readonly number: number; readonly slot: number }

/**
 * Both take the lane: a commit of an expelled writer has either been stored before, or is refused. Writers that nobody
 * has seen or expelled for a day make room.
 */
export const WRITER_FUNCTIONS = `
CREATE FUNCTION lazuli.register_1() RETURNS TABLE (number integer, slot integer)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  free integer;
BEGIN
  PERFORM pg_advisory_xact_lock(${LANE});
  DELETE FROM lazuli.writer WHERE seen < now() - interval '1 day';
  SELECT min(s) INTO free FROM generate_series(0, ${SLOT_COUNT - 1}) AS s
    WHERE NOT EXISTS (SELECT FROM lazuli.writer w WHERE w.slot = s);
  IF free IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'LZ004', MESSAGE = '${SLOT_COUNT} nodes are running already';
  END IF;
  RETURN QUERY INSERT INTO lazuli.writer (slot) VALUES (free) RETURNING writer.number, writer.slot;
END $$;

CREATE FUNCTION lazuli.expel_1(gone integer) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(${LANE});
  DELETE FROM lazuli.writer w WHERE w.number = gone;
END $$;`

const REGISTER = { name: 'register', text: 'SELECT number, slot FROM lazuli.register_1()' }
const EXPEL = { name: 'expel', text: 'SELECT lazuli.expel_1($1)' }

/** A lost answer may leave a writer that nobody uses; it makes room after a day. */
export async function registerWriter(pool: Pool): Promise<Writer> {
  const [row] = await pool.run(REGISTER, [])
  return { number: Number(row?.[0]), slot: Number(row?.[1]) }
}

export async function expelWriter(pool: Pool, number: number): Promise<void> {
  await pool.run(EXPEL, [number])
}
