// Authentication: SAS, Shared Key, tokens; and over SMB DER, SPNEGO, NTLM.
import { authenticate } from '../../../src/auth/authenticate.ts'
import { authorize } from '../../../src/auth/authorize.ts'
import { AUTH_WORLD, authRequest, KEYS } from '../../../src/auth/example.ts'
import type { Permission } from '../../../src/auth/permission.ts'
import { createBearerValidator } from '../../../src/auth/token/bearer.ts'
import { formatSasTime, parseSasTime } from '../../../src/auth/sas/sas-time.ts'
import { parseAddressRange } from '../../../src/auth/sas/sas-address.ts'
import { readDer, readDerChildren } from '../../../src/auth/smb/der.ts'
import {
  decodeAuthenticate,
  decodeNegotiate,
  decodeNtlmV2Response,
} from '../../../src/auth/smb/ntlm-message.ts'
import { SecurityTokenError } from '../../../src/auth/smb/security-token-error.ts'
import { stepSmbLogin, type SmbLoginWorld } from '../../../src/auth/smb/smb-login.ts'
import { decodeSpnego, encodeNegTokenResp } from '../../../src/auth/smb/spnego.ts'
import { parseQuery } from '../../../src/http/protocol/query.ts'
import { StorageError } from '../../../src/storage/shared/error.ts'
import {
  authenticateMessage,
  mechTypeList,
  negotiateMessage,
  negTokenInit,
} from '../../smb/ntlm-client.ts'
import { RECORDED } from '../../smb/recorded.ts'
import { target } from '../target.ts'

const WORLD = { ...AUTH_WORLD, bearer: createBearerValidator({ mode: 'basic' }) }
const PERMISSION: Permission = {
  resourceType: 'o',
  accountSas: 'r',
  serviceSas: 'r',
  anonymous: 'blob',
}
const URL = 'http://127.0.0.1/devstoreaccount1/c/b'
const SERVICES = ['blob', 'queue', 'table', 'file'] as const

async function admitted(query: string, headers: Record<string, string>): Promise<unknown> {
  const kinds: string[] = []
  for (const service of SERVICES) {
    const request = { ...authRequest(service, { url: URL, headers }), query: parseQuery(query) }
    try {
      const identity = await authenticate(request, WORLD)
      await authorize(identity, PERMISSION, request, WORLD)
      kinds.push(identity.kind)
    } catch (error) {
      if (!(error instanceof StorageError)) throw error
      kinds.push(error.code)
    }
  }
  return kinds
}

const SAS_WORDS = [
  '&sv=', '&ss=bqtf', '&srt=sco', '&sp=rwdlacup', '&se=2026-01-16T00:00:00Z', '&st=', '&sr=b', '&sr=c', '&sr=d&sdd=1',
  '&sip=127.0.0.1-127.0.0.2', '&spr=https', '&si=', '&sig=', '&skoid=', '&sktid=', '&skt=', '&ske=', '&sks=b', '&skv=',
  '&sduoid=', '&tn=t', '&spk=', '&rscd=', '2015-04-05', '2020-12-06', '2026-04-06', '%00', '9999-12-31T23:59:59Z',
] // prettier-ignore

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const CLAIMS = {
  iss: 'https://sts.windows.net/x/',
  aud: 'https://storage.azure.com',
  exp: 2_000_000_000,
  nbf: 1,
}
const TOKEN = `${part({ alg: 'none' })}.${part(CLAIMS)}.`

const LOGIN_WORLD: SmbLoginWorld = {
  accounts: AUTH_WORLD.accounts,
  names: { nbName: 'LAZULI', dnsName: 'lazuli.local', dnsDomain: 'local' },
  nowMs: Date.UTC(2026, 0, 15),
  random: (lengthBytes) => Buffer.alloc(lengthBytes, 0x5a),
}

const challenged = stepSmbLogin(undefined, negotiateMessage(), LOGIN_WORLD)
if (challenged.kind !== 'challenge') throw new Error('the login does not begin')
const { blob: challenge, state: challengedState } = challenged
const ANSWER = authenticateMessage(challenge, { user: 'devstoreaccount1', password: KEYS[0] ?? '' })
const BLOBS = RECORDED.flatMap(({ blobs }) => blobs)

export const AUTH_TARGETS = [
  target({
    name: 'sas',
    seeds: [
      'sv=2020-12-06&ss=bqtf&srt=sco&sp=r&se=2026-01-16T00:00:00Z&sig=AA%3D%3D',
      'sv=2026-04-06&sr=d&sdd=1&sp=r&st=2026-01-15&se=2026-01-16&spr=https,http&sip=127.0.0.1&sig=AA',
      'sv=2025-07-05&sr=b&sp=r&se=2026-01-16T00:00:00Z&skoid=00000000-0000-0000-0000-000000000000&sktid=00000000-0000-0000-0000-000000000000&skt=2026-01-15T00:00:00Z&ske=2026-01-16T00:00:00Z&sks=b&skv=2025-07-05&sig=AA',
      'sv=2019-12-12&tn=t&spk=a&srk=b&epk=c&erk=d&si=policy&sig=AA',
    ],
    words: SAS_WORDS,
    decode: (input) => admitted(input.toString('latin1'), {}),
    refuses: [StorageError],
  }),
  target({
    name: 'sas-time',
    seeds: [
      '2026-01-15',
      '2026-01-15T12:00Z',
      '2026-01-15T12:00:00.1234567Z',
      '2026-01-15T12:00:00+02:00',
    ],
    decode: (input) => parseSasTime(input.toString('latin1')),
    again: (timeMs) =>
      timeMs === undefined || timeMs % 1_000 !== 0
        ? undefined
        : parseSasTime(formatSasTime(timeMs)),
    refuses: [],
  }),
  target({
    name: 'sas-address',
    seeds: ['127.0.0.1', '10.0.0.1-10.0.0.255'],
    words: ['-', '.', '255', '256', '::1', '0'],
    decode: (input) => parseAddressRange(input.toString('latin1')),
    refuses: [],
  }),
  target({
    name: 'authorization',
    seeds: [
      'SharedKey devstoreaccount1:AAAA\nx-ms-date:Thu, 15 Jan 2026 12:00:00 GMT\ncontent-length:5',
      'SharedKeyLite devstoreaccount1:AAAA\ndate:Thu, 15 Jan 2026 12:00:00 GMT',
      'Basic abc',
    ],
    words: [
      'SharedKey ',
      'SharedKeyLite ',
      'Bearer ',
      ':',
      '=',
      'devstoreaccount1',
      '\nx-ms-meta-',
      '\ncontent-md5:',
      '\nrange:',
      '\u00df',
    ],
    decode: (input) => {
      const [authorization = '', ...lines] = input.toString('latin1').split('\n')
      const more = lines.map((line) => line.split(':', 2))
      return admitted('', {
        ...Object.fromEntries(more),
        authorization,
        'x-ms-version': '2021-12-02',
      })
    },
    refuses: [],
  }),
  target({
    name: 'jwt',
    seeds: [TOKEN, `${part({ alg: 'RS256', kid: 'a' })}.${part({ ...CLAIMS, aud: ['a'] })}.AAAA`],
    words: ['.', '=', '-', '_', part({}), part([]), part({ exp: 'x', nbf: 'y' })],
    decode: (input) => admitted('', { authorization: `Bearer ${input.toString('latin1')}` }),
    refuses: [],
  }),
  target({
    name: 'jwt-claims',
    seeds: [
      JSON.stringify(CLAIMS),
      JSON.stringify({ ...CLAIMS, aud: [1, 'https://storage.azure.com/'] }),
    ],
    words: [
      '"',
      '{',
      '[',
      'null',
      'true',
      '1e400',
      '"exp":',
      '"nbf":',
      '"aud":',
      '"iss":',
      '"__proto__":',
    ],
    decode: (input) => {
      const token = `${part({ alg: 'none' })}.${input.toString('base64url')}.`
      return admitted('', { authorization: `Bearer ${token}` })
    },
    refuses: [],
  }),
  target({
    name: 'der',
    seeds: BLOBS,
    lengthMax: 1_024,
    decode: (input) => readDerChildren(readDer(input).content),
    refuses: [SecurityTokenError],
  }),
  target({
    name: 'spnego',
    seeds: BLOBS,
    lengthMax: 1_024,
    decode: (input) => decodeSpnego(input),
    again: (token) => {
      if (token.kind === 'init' || token.negState === undefined) return undefined
      return decodeSpnego(encodeNegTokenResp({ ...token, negState: token.negState }))
    },
    refuses: [SecurityTokenError],
  }),
  target({
    name: 'ntlm',
    seeds: [negotiateMessage(), ANSWER],
    words: ['NTLMSSP\0\u0001\0\0\0', 'NTLMSSP\0\u0003\0\0\0'],
    lengthMax: 1_024,
    decode: (input) => {
      if (input[8] === 1) return decodeNegotiate(input)
      const { ntResponse, ...rest } = decodeAuthenticate(input)
      return { ...rest, ntResponse: decodeNtlmV2Response(ntResponse) }
    },
    refuses: [SecurityTokenError],
  }),
  target({
    name: 'smb-login',
    seeds: [
      negotiateMessage(),
      ANSWER,
      negTokenInit(mechTypeList('2b06010401823702020a'), negotiateMessage()),
      ...BLOBS,
    ],
    lengthMax: 1_024,
    decode: (input) =>
      [undefined, challengedState].map((state) => stepSmbLogin(state, input, LOGIN_WORLD).kind),
    refuses: [],
  }),
]
