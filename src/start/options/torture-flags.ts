// The flags that may be given several times: each value is a line of their text.
export const REPEATED_FLAGS: ReadonlySet<string> = new Set(['url', 'connectionString', 'adminUrl'])
