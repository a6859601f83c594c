// The name of a previous version on the wire, [MS-SMB2] 2.2.32.2: "@GMT-2024.01.31-23.59.58", in UTC and whole seconds.

const LABEL = /^@GMT-(\d{4})\.(\d{2})\.(\d{2})-(\d{2})\.(\d{2})\.(\d{2})$/

export function encodeSnapshotLabel(ms: number): string {
  const [date = '', time = ''] = new Date(ms).toISOString().split('T')
  return `@GMT-${date.replaceAll('-', '.')}-${time.slice(0, 8).replaceAll(':', '.')}`
}

/** Unix milliseconds of the whole second; undefined if it is not a label or not a date. */
export function decodeSnapshotLabel(label: string): number | undefined {
  const match = LABEL.exec(label)
  if (match === null) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1)
    .map(Number)
  const ms = Date.UTC(year, month - 1, day, hour, minute, second)
  // April 31st would roll over into May: a valid date encodes to the same label.
  return encodeSnapshotLabel(ms) === label ? ms : undefined
}
