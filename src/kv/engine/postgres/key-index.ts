// SQL over the index of keys. An entry of a B-tree holds at most 2,704 bytes, and keys reach 4,000: so the index has the
// first bytes of each key, and a hash of the longer ones to tell them apart. Few keys are longer than that.

/** Keys longer than this share an index entry's order with others that begin alike. */
export const HEAD_BYTES = 2_600

export const HEAD = (key: string): string => `substr(${key}, 1, ${HEAD_BYTES})`

export const HASH = (key: string): string =>
  `CASE WHEN octet_length(${key}) > ${HEAD_BYTES} THEN sha256(${key}) ELSE ''::bytea END`

/** Finds a key by the index. */
export const SAME_KEY = (a: string, b: string): string => `${HEAD(a)} = ${HEAD(b)} AND ${a} = ${b}`

/**
 * The rows of a range `r(low, high, count, reverse)`. If long keys begin alike, there may be more than `count`, and those
 * are in any order.
 */
export function rangeRows(columns: string): string {
  const inRange = `${HEAD('kv.key')} >= ${HEAD('r.low')} AND ${HEAD('kv.key')} <= ${HEAD('r.high')}
    AND kv.key >= r.low AND kv.key < r.high`
  const rows = (reverse: number, direction: string) => `
    (SELECT ${columns} FROM lazuli.kv WHERE r.reverse = ${reverse} AND r.count > 0 AND ${inRange}
    ORDER BY ${HEAD('kv.key')} ${direction} FETCH FIRST (r.count) ROWS WITH TIES)`
  return `${rows(0, 'ASC')} UNION ALL ${rows(1, 'DESC')}`
}

/**
 * The rows of a folded range `r(low, high, count, fold_at, delimiter, after)`, found with one seek each. `after` takes the
 * place of the delimiter in the first key behind a fold.
 */
export function foldedRows(columns: string): string {
  const firstRow = (low: string, isWanted: string): string => `
    SELECT kv.key, kv.value, kv.version FROM lazuli.kv
    WHERE ${isWanted} AND ${HEAD('kv.key')} >= ${HEAD(low)} AND ${HEAD('kv.key')} <= ${HEAD('r.high')}
      AND kv.key >= ${low} AND kv.key < r.high
    ORDER BY ${HEAD('kv.key')}, kv.key LIMIT 1`
  return `
    WITH RECURSIVE kv_walk AS (
      (SELECT first.*, 1 AS n FROM (${firstRow('r.low', 'r.count > 0')}) first)
      UNION ALL
      SELECT next.*, w.n + 1 FROM kv_walk w
      CROSS JOIN LATERAL (SELECT position(r.delimiter IN substr(w.key, r.fold_at + 1)) AS at) found
      CROSS JOIN LATERAL (SELECT CASE found.at WHEN 0 THEN w.key || '\\x00'::bytea
        ELSE substr(w.key, 1, r.fold_at + found.at - 1) || r.after END AS low) seek
      CROSS JOIN LATERAL (${firstRow('seek.low', 'w.n < r.count')}) next
    )
    SELECT ${columns} FROM kv_walk AS kv`
}

/** A digest of the keys and versions of a range, in order of keys: see `rangeDigest`. */
export const RANGE_DIGEST = `sha256(coalesce((
  SELECT string_agg(int4send(octet_length(e.key)) || e.key || int8send(e.version), ''::bytea ORDER BY e.key)
  FROM (
    (SELECT * FROM (${rangeRows('kv.key, kv.version')}) up WHERE r.reverse = 0 ORDER BY up.key LIMIT r.count)
    UNION ALL
    (SELECT * FROM (${rangeRows('kv.key, kv.version')}) down WHERE r.reverse = 1 ORDER BY down.key DESC LIMIT r.count)
  ) e), ''::bytea))`

/**
 * The part of a value that a range `r(part)` wants: 0 all of it, 1 its fields, 2 nothing. Of a short value, all of it is
 * sent: cutting it would take longer.
 */
export function partOfValue(value: string): string {
  const byte = (at: number): string => `get_byte(substr(${value}, 1, 4), ${at})`
  const fieldsEnd = `4 + ${byte(0)} + (${byte(1)} << 8) + (${byte(2)} << 16)`
  return `CASE r.part WHEN 0 THEN ${value} WHEN 2 THEN ''::bytea ELSE
    CASE WHEN octet_length(${value}) < 1024 THEN ${value} WHEN ${byte(3)} > 0 THEN ${value}
    ELSE substr(${value}, 1, ${fieldsEnd}) END END`
}
