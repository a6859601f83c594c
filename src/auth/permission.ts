// The permission that an operation requires. Every row of the API's table has one.

export type Permission = {
  /** The `srt` letter that an account SAS must have. */
  readonly resourceType: 's' | 'c' | 'o'
  /** Any one of these letters is enough; undefined: not possible with an account SAS. */
  readonly accountSas: string | undefined
  /** Likewise; undefined: never with a service or user delegation SAS. */
  readonly serviceSas: string | undefined
  /** Every letter is needed, not any one: a table upsert needs both a and u. */
  readonly all?: true
  /** The lowest public access level that allows it without authentication. */
  readonly anonymous?: 'container' | 'blob'
  /** false: not possible with a token; 'only': with nothing else (Get User Delegation Key). */
  readonly bearer?: false | 'only'
}

/** Whether the permissions of a SAS include the letters that an operation requires. */
export function isGranted(permissions: string, letters: string, all: boolean): boolean {
  for (const letter of letters) {
    if (permissions.includes(letter) !== all) return !all
  }
  return all
}
