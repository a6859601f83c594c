// Credentials, and what each may do by the rule of an operation: the cells of one row of the matrix.
import type { Seed } from '../hostile-seed.ts'
import { moreLetters, type Rule } from './rule.ts'
import type { MatrixService } from './rules.ts'
import {
  accountSas,
  containerSas,
  delegationSas,
  SERVICE_LETTER,
  type DelegationKey,
} from './sign.ts'

/** All letters that a SAS can have. */
const ALL = 'racwdxyltfmeopiu'

/** Those that a SAS for the service can have. */
function lettersOf(service: MatrixService): readonly string[] {
  return [...(service === 'blob' || service === 'dfs' ? ALL : 'racwdlup')]
}

export type Row = {
  readonly service: MatrixService
  readonly account: string
  /** The container, queue, table or share in the path; undefined: none. */
  readonly container: string | undefined
  readonly seed: Seed
  readonly rule: Rule
  /** The public access of the container. */
  readonly access: 'container' | 'blob' | undefined
  /** A blob or path is there that the operation would replace. */
  readonly replaces: boolean
  readonly token: string
  readonly key: DelegationKey | undefined
}

export type Cell = {
  readonly name: string
  /** As `RawRequest.sign`. */
  readonly sign: string
  readonly headers: Readonly<Record<string, string>>
  /** The status and code of the refusal; undefined: allowed. */
  readonly refusal: string | undefined
}

const PERMISSION = '403 AuthorizationPermissionMismatch'
const FAILURE = '403 AuthorizationFailure'
const FAILED = '403 AuthenticationFailed'

export function cellsOf(row: Row): readonly Cell[] {
  return [
    ...keyCells(row),
    ...accountSasCells(row),
    ...sasCells(row, 'service SAS', (permissions) => containerSas(grantOf(row, permissions))),
    ...delegationCells(row),
    foreignCell(row),
    ...tokenCells(row),
    anonymousCell(row),
  ]
}

const grantOf = ({ service, account, container = 'canary' }: Row, permissions: string) => {
  return { service, account, container, permissions }
}

function keyCells({ rule, account }: Row): readonly Cell[] {
  const refusal = rule.token === 'only' ? FAILED : undefined
  const wrong = `SharedKey ${account}:${Buffer.alloc(32).toString('base64')}`
  return [
    { name: 'account key', sign: 'sharedKey', headers: {}, refusal },
    { name: 'wrong account key', sign: 'none', headers: { authorization: wrong }, refusal: FAILED },
  ]
}

function accountSasCells(row: Row): readonly Cell[] {
  const { service, account, rule } = row
  const sign = (permissions: string, types = 'sco', services = 'bqtf') =>
    accountSas({ account, permissions, services, types })
  const cell = (name: string, text: string, refusal: string | undefined): Cell => {
    return { name: `account SAS, ${name}`, sign: text, headers: {}, refusal }
  }
  const others = 'sco'.replace(rule.type, '')
  const otherServices = 'bqtf'.replace(SERVICE_LETTER[service], '')
  const only = rule.token === 'only' ? FAILED : undefined
  return [
    ...grants(row, rule.account).map(([permissions, isGranted]) =>
      cell(permissions, sign(permissions), only ?? verdict(row, rule.account, permissions, isGranted)),
    ),
    cell(`only ${others}`, sign(ALL, others), only ?? '403 AuthorizationResourceTypeMismatch'),
    cell(`only ${otherServices}`, sign(ALL, 'sco', otherServices), '403 AuthorizationServiceMismatch'),
  ] // prettier-ignore
}

/** Each letter alone, and what is just enough: one of the letters, or all of them, with what headers need. */
function grants({ service, seed, rule }: Row, letters: string): readonly [permissions: string, isGranted: boolean][] {
  const more = moreLetters(seed)
  const enough = (rule.all ? [letters] : [...letters]).filter((each) => each !== '').map((each) => {
    return each.includes(more) ? each : each + more
  }) // prettier-ignore
  const single = lettersOf(service).filter((letter) => !enough.includes(letter))
  return [
    ...single.map((letter): [string, boolean] => [letter, false]),
    ...enough.map((each): [string, boolean] => [each, true]),
  ]
} // prettier-ignore

function verdict(row: Row, letters: string, permissions: string, isGranted: boolean) {
  if (letters === '') return FAILURE
  if (!isGranted) return PERMISSION
  // "Create: write a new blob"; replacing one is to write.
  const isCreateOnly = letters.includes('w') && !permissions.includes('w')
  if (!isCreateOnly || !row.replaces) return undefined
  return row.service === 'file' ? PERMISSION : '403 UnauthorizedBlobOverwrite'
}

function sasCells(row: Row, name: string, sign: (permissions: string) => string): readonly Cell[] {
  const { rule } = row
  const only = rule.token === 'only' ? FAILED : undefined
  return grants(row, rule.service).map(([permissions, isGranted]) => {
    const refusal = outsideOf(row) ?? verdict(row, rule.service, permissions, isGranted)
    return { name: `${name}, ${permissions}`, sign: sign(permissions), headers: {}, refusal: only ?? refusal }
  })
} // prettier-ignore

/** A SAS for a container is no SAS for the service. One for a table names it in the query, so its signature holds everywhere. */
function outsideOf({ service, container, seed }: Row): string | undefined {
  if (service === 'table' && seed.path.startsWith('/Tables')) return FAILED
  if (container !== undefined) return undefined
  return service === 'table' ? FAILURE : FAILED
}

/** "Get Account Information does not support user delegation SAS". Users of paths are the subject of test/datalake/identity.test.ts. */
function delegationCells(row: Row): readonly Cell[] {
  const { key, seed } = row
  if (key === undefined || seed.operation === 'Get Account Information') return []
  return sasCells(row, 'user delegation SAS', (permissions) =>
    delegationSas(grantOf(row, permissions), key),
  )
}

/** The signature of a container does not hold for another. */
function foreignCell(row: Row): Cell {
  const sign = containerSas({ ...grantOf(row, ALL), container: 'foreign' })
  const refusal = row.rule.token === 'only' ? FAILED : (outsideOf(row) ?? foreignRefusal(row))
  return { name: 'service SAS for another container', sign, headers: {}, refusal }
}

/** The query of a transaction is that of its parts, which are in a table that it does not name. */
function foreignRefusal({ seed }: Row): string {
  return seed.operation === 'Entity Group Transaction' ? FAILURE : FAILED
}

function tokenCells({ rule, token, service }: Row): readonly Cell[] {
  if (service === 'dfs') return []
  const intent = service === 'file' ? { 'x-ms-file-request-intent': 'backup' } : undefined
  const headers = { authorization: `Bearer ${token}`, ...intent }
  const refused = service === 'table' ? '404 ResourceNotFound' : FAILURE
  const refusal = rule.token === 'never' ? refused : undefined
  return [{ name: 'token', sign: 'none', headers, refusal }]
}

function anonymousCell({ rule, access, service, seed }: Row): Cell {
  const isTagged = seed.headers?.['x-ms-if-tags'] !== undefined
  const isPublic =
    rule.anonymous !== undefined && (access === 'container' || access === rule.anonymous)
  const refused = service === 'file' ? '404 ResourceNotFound' : '401 NoAuthenticationInformation'
  const refusal = isPublic && !isTagged ? undefined : refused
  return { name: 'nobody', sign: 'none', headers: {}, refusal }
}
