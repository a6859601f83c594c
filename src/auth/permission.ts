// What an operation asks of its caller. Each operation's row in the API table carries one.

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

/** Whether permission text from a SAS satisfies the letters that an operation asks for. */
export function isGranted(permissions: string, letters: string, all: boolean): boolean {
  for (const letter of letters) {
    if (permissions.includes(letter) !== all) return !all
  }
  return all
}
