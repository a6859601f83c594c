// Outcomes of logins, for the log and the metrics. The client itself only gets LOGON_FAILURE.
import type { SmbLoginRefusal } from '../../auth/smb/smb-login.ts'

/** The values of the metric's label: a fixed list, independent of what clients send. */
export const LOGIN_OUTCOMES = [
  'accepted',
  'anonymous',
  'malformed',
  'mechanism',
  'mechListMic',
  'password',
  'sequence',
  'tooMany',
  'user',
  'notAllowed',
] as const

export type LoginOutcome = (typeof LOGIN_OUTCOMES)[number]

export type LoginReport = {
  readonly outcome: LoginOutcome
  /** The name of the account or user as the client wrote it; undefined if it has not sent one. */
  readonly name: string | undefined
  readonly clientIp: string
}

/** Reasons for the log. */
export const REFUSALS: Readonly<Record<Exclude<LoginOutcome, 'accepted'>, string>> = {
  anonymous: 'it named no user',
  malformed: 'its token could not be decoded or was too long',
  mechanism: 'it did not offer NTLM',
  mechListMic: 'the signature of its list of mechanisms was wrong',
  password: 'the password was wrong, or it used NTLMv1',
  sequence: 'its messages came in the wrong order',
  tooMany: 'too many logins were unfinished on the connection',
  user: 'the user does not exist',
  notAllowed:
    'the session does not allow it: encryption is required, or it belongs to another user',
} satisfies Record<SmbLoginRefusal, string> & Record<string, string>

const NAME_LENGTH_MAX = 64

/** A name from a client, made safe to log: short and without control characters. */
export function printable(name: string): string {
  const clean = name.replaceAll(/\p{C}/gu, '?')
  return clean.length > NAME_LENGTH_MAX ? `${clean.slice(0, NAME_LENGTH_MAX)}…` : clean
}
