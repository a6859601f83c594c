// The function that commits a group. It takes the lane, a lock that makes commits one after another, and compares what the
// transactions have read with what is there now.
//
// READ COMMITTED: each statement of a function takes a new snapshot, so those after the lock see everything that earlier
// holders of the lane have committed, and what this function has written itself. Nobody else writes meanwhile. A
// stricter isolation level would keep the snapshot from before the lock; the connection's setting rules that out.
import { HASH, HEAD, partOfValue, RANGE_DIGEST, rangeRows, SAME_KEY } from './key-index.ts'

export const LANE = '7596848735613349236'

/** Kinds of steps of a transaction. */
export const STEP = {
  /** A key that was read; to compare with the state before the group. */
  read: 1,
  /** Also read, but by an earlier step too, or written by an earlier transaction of the group. */
  readAgain: 2,
  range: 3,
  write: 4,
  /** The last write of this key in the group. */
  lastWrite: 5,
  lastDelete: 6,
} as const

/** Kinds of rows in the result. */
export const RESULT = { overtaken: 0, key: 1, range: 2 } as const

/** Errors of the function. Nothing was stored. */
export const COMMIT_ERROR = {
  /** The writer was expelled: others took it for dead. */
  unknownWriter: 'LZ001',
  /** A later call of this writer was committed: this one is a late repetition. */
  replaced: 'LZ002',
  /** It waited too long; its caller has given up. */
  late: 'LZ003',
} as const

const upsert = (rows: string): string => `
  INSERT INTO lazuli.kv (key, value, version) ${rows}
  ON CONFLICT ((${HEAD('key')}), (${HASH('key')})) DO UPDATE SET value = excluded.value, version = excluded.version`

const RANGES = `unnest(range_txs, lows, highs, counts, reverses, parts, digests)
  WITH ORDINALITY AS r(tx, low, high, count, reverse, part, digest, at)`

/** Transactions in order, step by step: exact, for groups of which some transaction may be overtaken. */
const IN_ORDER = `
  FOR s IN SELECT * FROM unnest(txs, kinds, keys, versions, vals) AS s(tx, kind, key, version, value) LOOP
    CONTINUE WHEN s.tx = refused;
    IF s.kind <= ${STEP.readAgain} THEN
      SELECT kv.version INTO current_version FROM lazuli.kv WHERE ${SAME_KEY('kv.key', 's.key')};
      is_same := coalesce(current_version, 0) = s.version;
    ELSIF s.kind = ${STEP.range} THEN
      SELECT r.digest = ${RANGE_DIGEST} INTO is_same
      FROM (SELECT lows[s.version] AS low, highs[s.version] AS high, counts[s.version] AS count,
        reverses[s.version] AS reverse, digests[s.version] AS digest) r;
    ELSE
      is_same := true;
      IF s.value IS NULL THEN
        DELETE FROM lazuli.kv WHERE ${SAME_KEY('kv.key', 's.key')};
      ELSE
        ${upsert('VALUES (s.key, s.value, s.version)')};
      END IF;
    END IF;
    IF NOT is_same THEN
      refused := s.tx;
      refusals := refusals || s.tx;
    END IF;
  END LOOP;`

export const COMMIT_FUNCTIONS = `
CREATE FUNCTION lazuli.commit_1(
  writer_number integer, call_number bigint, deadline_us bigint, is_independent integer, has_writes integer,
  txs integer[], kinds integer[], keys bytea[], versions bigint[], vals bytea[],
  range_txs integer[], lows bytea[], highs bytea[], counts integer[], reverses integer[], parts integer[],
  digests bytea[]
) RETURNS TABLE (kind integer, at integer, key bytea, value bytea, version bigint)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  last record;
  s record;
  current_version bigint;
  is_same boolean;
  refused integer := -1;
  refusals integer[] := '{}';
BEGIN
  PERFORM pg_advisory_xact_lock(${LANE});
  SELECT w.call, w.overtaken INTO last FROM lazuli.writer w WHERE w.number = writer_number;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = '${COMMIT_ERROR.unknownWriter}', MESSAGE = 'unknown writer';
  ELSIF last.call > call_number THEN
    RAISE EXCEPTION USING ERRCODE = '${COMMIT_ERROR.replaced}', MESSAGE = 'replaced by a later commit';
  ELSIF last.call = call_number THEN
    refusals := last.overtaken;
  ELSE
    IF extract(epoch FROM clock_timestamp()) * 1000000 > deadline_us THEN
      RAISE EXCEPTION USING ERRCODE = '${COMMIT_ERROR.late}', MESSAGE = 'the commit waited too long';
    END IF;
    IF is_independent = 1
      AND NOT EXISTS (
        SELECT FROM unnest(kinds, keys, versions) AS s(kind, key, version)
        LEFT JOIN lazuli.kv ON ${SAME_KEY('kv.key', 's.key')}
        WHERE s.kind = ${STEP.read} AND coalesce(kv.version, 0) <> s.version)
      AND (cardinality(lows) = 0 OR NOT EXISTS (SELECT FROM ${RANGES} WHERE r.digest <> ${RANGE_DIGEST}))
    THEN
      ${upsert(`SELECT s.key, s.value, s.version FROM unnest(kinds, keys, versions, vals) AS s(kind, key, version, value)
        WHERE s.kind = ${STEP.lastWrite}`)};
      IF ${STEP.lastDelete} = ANY (kinds) THEN
        DELETE FROM lazuli.kv USING unnest(kinds, keys) AS s(kind, key)
        WHERE s.kind = ${STEP.lastDelete} AND ${SAME_KEY('kv.key', 's.key')};
      END IF;
    ELSE
      ${IN_ORDER}
    END IF;
    -- Without it, a commit that stores nothing need not wait for the disk.
    IF has_writes = 1 THEN
      UPDATE lazuli.writer w SET call = call_number, overtaken = refusals, seen = now()
      WHERE w.number = writer_number;
    END IF;
  END IF;
  IF cardinality(refusals) = 0 THEN
    RETURN;
  END IF;
  RETURN QUERY SELECT ${RESULT.overtaken}, tx, NULL::bytea, NULL::bytea, NULL::bigint FROM unnest(refusals) AS tx;
  RETURN QUERY SELECT ${RESULT.key}, s.at::integer, NULL::bytea, kv.value, kv.version
    FROM unnest(txs, kinds, keys) WITH ORDINALITY AS s(tx, kind, key, at)
    JOIN lazuli.kv ON ${SAME_KEY('kv.key', 's.key')}
    WHERE s.kind <= ${STEP.readAgain} AND s.tx = ANY (refusals);
  RETURN QUERY SELECT ${RESULT.range}, r.at::integer, e.key, ${partOfValue('e.value')}, e.version
    FROM ${RANGES}
    CROSS JOIN LATERAL (${rangeRows('kv.key, kv.value, kv.version')}) e
    WHERE r.tx = ANY (refusals);
END $$;`
