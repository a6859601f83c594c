// Every operation of every service with every kind of credential: what is refused, with which error, and that it changes nothing; what
// is allowed, that it succeeds. The expectation is rules.ts, which is written from Azure's documentation.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { BLOB_OPERATIONS } from '../../src/rest/blob/operations.ts'
import { LAKE_OPERATIONS } from '../../src/rest/datalake/operations.ts'
import { FILE_OPERATIONS } from '../../src/rest/file/operations.ts'
import { QUEUE_OPERATIONS } from '../../src/rest/queue/operations.ts'
import { TABLE_OPERATIONS } from '../../src/rest/table/operations.ts'
import { LAKE } from '../datalake/fixture.ts'
import {
  ACCOUNT,
  outcome,
  rawRequest,
  xmlText,
  type RawRequest,
  type RawResponse,
} from '../harness.ts'
import { BLOB_SEEDS } from '../hostile-blob-seeds.ts'
import { FILE_SEEDS } from '../hostile-file-seeds.ts'
import { QUEUE_SEEDS } from '../hostile-queue-seeds.ts'
import { keepFrom, requestOf, type Headers, type Names, type Seed } from '../hostile-seed.ts'
import { changesOf, keysOf, stateOf } from '../hostile-store.ts'
import { startHostileWorld, type HostileWorld } from '../hostile-world.ts'
import { outcome as tableOutcome, send as sendTable } from '../table/fixture.ts'
import { cellsOf, type Cell, type Row } from './credential.ts'
import { LAKE_SEEDS } from './lake-seeds.ts'
import { moreLetters, ruleName, type Rule } from './rule.ts'
import { RULES, SERVICES, type MatrixService } from './rules.ts'
import { containerSas, type DelegationKey } from './sign.ts'
import { TABLE_SEEDS } from './table-seeds.ts'

const SEEDS: Readonly<Record<MatrixService, readonly Seed[]>> = {
  blob: BLOB_SEEDS,
  queue: QUEUE_SEEDS,
  table: TABLE_SEEDS,
  file: FILE_SEEDS,
  dfs: LAKE_SEEDS,
}
const OPERATIONS = {
  blob: BLOB_OPERATIONS,
  queue: QUEUE_OPERATIONS,
  table: TABLE_OPERATIONS,
  file: FILE_OPERATIONS,
  dfs: LAKE_OPERATIONS,
} as const

let world: HostileWorld
const keys = new Map<MatrixService, DelegationKey>()

before(async () => {
  world = await startHostileWorld()
  for (const service of SERVICES) if (service !== 'dfs') keys.set(service, await delegationKey(service))
  const retention = '<DeleteRetentionPolicy><Enabled>true</Enabled><Days>3</Days></DeleteRetentionPolicy>'
  const enabled = await rawRequest(world.server, {
    method: 'PUT',
    account: LAKE,
    path: '/?restype=service&comp=properties',
    body: `<StorageServiceProperties>${retention}</StorageServiceProperties>`,
  })
  assert.equal(enabled.status, 202, enabled.text)
}) // prettier-ignore
after(() => world.close())

test('every operation has a rule and a seed', () => {
  for (const service of SERVICES) {
    const operations = [...new Set(OPERATIONS[service].map(({ name }) => name))].toSorted()
    const rules = [...RULES[service].keys()].map((name) => name.split(/,| in Container$/)[0] ?? '')
    const seeds = SEEDS[service].map(({ operation }) => operation)
    const plain = (names: readonly string[]) =>
      [...new Set(names.map((name) => name.replace(/ in Container$/, '')))].toSorted()
    assert.deepEqual(plain(rules), plain(operations))
    assert.deepEqual(plain(seeds), plain(operations))
  }
})

for (const service of SERVICES) {
  test(`${service}: each credential gets what the rule of the operation says`, async (context) => {
    const asked = new Set<string>()
    const wrong = await runMatrix(service, asked)
    assert.deepEqual(wrong, [])
    assert(asked.size > 40 * 13, String(asked.size))
    context.diagnostic(`${service}: ${asked.size} cells`)
  })
}

/**
 * As many runs of the scenario as one operation has credentials that it allows, so that each gets its turn. An operation that can be
 * repeated is asked with all of them in the first run.
 */
async function runMatrix(service: MatrixService, asked: Set<string>): Promise<readonly string[]> {
  const wrong: string[] = []
  const refused = new Set<string>()
  for (let run = 0, runCount = 1; run < runCount; run += 1) {
    const names = namesOf(service, run)
    world.hold(true)
    for (const seed of SEEDS[service]) {
      const row = await rowOf(service, seed, names)
      const cells = cellsOf(row)
      if (run === 0 && isNew(row, refused))
        wrong.push(...(await askRefused(row, cells, names, asked)))
      const allowed = cells.filter(({ refusal }) => refusal === undefined)
      const isAll = run === 0 && isRepeatable(row)
      if (!isRepeatable(row)) runCount = Math.max(runCount, allowed.length)
      const now = isAll ? allowed : [allowed[run % allowed.length]]
      for (const cell of now) wrong.push(...(await askAllowed(row, cell, names, asked)))
    }
    world.hold(false)
  }
  return wrong
}

function namesOf(service: MatrixService, run: number): Names {
  const names = new Map([...world.namesFor(`auth-${service}-${run}`), ['table', `Table${run}`]])
  if (service === 'dfs') names.set('account', LAKE)
  return names
}

/** Seeds of one operation that differ in nothing that matters here are refused alike. */
function isNew({ service, seed, access, replaces, container }: Row, refused: Set<string>): boolean {
  const { method } = seed
  const kind = [nameOfRule(service, seed), method, access, replaces, moreLetters(seed), container === undefined].join() // prettier-ignore
  if (refused.has(kind)) return false
  refused.add(kind)
  return true
}

const isRepeatable = ({ seed }: Row): boolean =>
  /^(Get (?!Messages)|List|Find|Query|Peek|Read|Check|Submit Batch|Entity Group)/.test(
    seed.operation,
  )

/** Each is refused as it should be, and together they have changed nothing. */
async function askRefused(row: Row, cells: readonly Cell[], names: Names, asked: Set<string>) {
  const wrong: string[] = []
  await noCopies()
  const state = await stateOf(world.server.store)
  for (const cell of cells) {
    if (cell.refusal === undefined) continue
    const got = outcomeOf(row, await send(row, cell, names))
    asked.add(`${ruleName(row.seed)}: ${cell.name}`)
    if (got !== plain(row, cell.refusal)) wrong.push(`${textOf(row, cell)}: ${got}, not ${cell.refusal}`)
  }
  const changed = changesOf(state, await stateOf(world.server.store))
  if (changed.length > 0) wrong.push(`${row.seed.operation} has changed ${changed.join()}`)
  return wrong
} // prettier-ignore

async function askAllowed(row: Row, cell: Cell | undefined, names: Names, asked: Set<string>) {
  if (cell === undefined) return [`${row.seed.operation}: nobody may`]
  const answer = await send(row, cell, names)
  asked.add(`${ruleName(row.seed)}: ${cell.name}`)
  const values = Object.entries(answer.headers).map(([name, value]) => [name, String(value)])
  keepFrom(row.seed, { ...answer, headers: Object.fromEntries(values) }, names)
  if (outcomeOf(row, answer) === String(row.seed.status)) {
    countHeld(row.seed)
    return []
  }
  return [`${textOf(row, cell)}: ${outcomeOf(row, answer)}, not ${row.seed.status}`]
}

const textOf = ({ service, seed }: Row, { name }: Cell): string =>
  `${service}: ${seed.operation} ${seed.method} ${seed.path} by ${name}`

/** HEAD has no body, and the errors of Table are only there. */
function plain({ service, seed }: Row, refusal: string): string {
  return service === 'table' && seed.method === 'HEAD' ? refusal.slice(0, 3) : refusal
}

/** A transaction of tables is as authorized as its part. */
function outcomeOf({ service }: Row, answer: RawResponse): string {
  if (service !== 'table') return outcome(answer)
  const [, inner] = /^HTTP\/1\.1 (4\d\d)/m.exec(answer.text) ?? []
  return tableOutcome({ ...answer, status: Number(inner ?? answer.status) })
}

async function rowOf(service: MatrixService, seed: Seed, names: Names): Promise<Row> {
  const rule: Rule | undefined = RULES[service].get(nameOfRule(service, seed))
  assert(rule, nameOfRule(service, seed))
  const account = names.get('account') ?? ''
  const [, , container = ''] = (requestPath(seed, names).split('?')[0] ?? '').split('/')
  const isService = container === ''
  return {
    service,
    account,
    container: isService ? undefined : containerName(service, container, names),
    seed,
    rule,
    access: service === 'blob' && !isService ? await accessOf(container) : undefined,
    replaces: await isThere(service, seed, names),
    token: names.get('token') ?? '',
    key: keys.get(service),
  }
}

function nameOfRule(service: MatrixService, seed: Seed): string {
  const name = ruleName(seed)
  const isBox = name === 'Submit Batch' && seed.path.startsWith('/{box}')
  return service === 'blob' && isBox ? 'Submit Batch in Container' : name
}

const requestPath = (seed: Seed, names: Names): string => requestOf(seed, names).path

/** A SAS for tables names its table in the query, whatever the path. */
function containerName(service: MatrixService, container: string, names: Names): string {
  return service === 'table' ? (names.get('table') ?? '') : decodeURIComponent(container)
}

async function accessOf(container: string): Promise<Row['access']> {
  const path = `/${container}?restype=container`
  const { headers } = await rawRequest(world.server, { method: 'HEAD', path })
  const access = headers['x-ms-blob-public-access']
  return access === 'container' || access === 'blob' ? access : undefined
}

const REPLACING =
  /^(Put (Blob|Page Blob|Append Blob|Block List)|Put Blob From URL|Copy Blob|Copy Blob From URL|Create Path|Rename Path|Copy File|Create File)$/

async function isThere(service: MatrixService, seed: Seed, names: Names): Promise<boolean> {
  if (!REPLACING.test(seed.operation)) return false
  const [path = ''] = requestPath(seed, names).split('?')
  const account = names.get('account') ?? ACCOUNT
  const { status } = await rawRequest({ blobPort: portOf(service) }, { method: 'HEAD', path, wholePath: true, account })
  return status === 200
} // prettier-ignore

function send(row: Row, cell: Cell, names: Names): Promise<RawResponse> {
  const { as: _, ...seed } = row.seed
  const request: RawRequest = requestOf(seed, names)
  const { service, account } = row
  const headers = { ...withSource(row, request.headers, names), ...cell.headers }
  const whole = { ...request, headers, account, sign: cell.sign }
  if (service === 'table') return sendTable(world.server, whole)
  return rawRequest({ blobPort: portOf(service) }, whole)
}

const SOURCE_HEADERS = ['x-ms-copy-source', 'x-ms-file-rename-source']

/** The source of a copy or a rename has a SAS of its own. */
function withSource({ service, account }: Row, headers: Headers = {}, names: Names): Headers {
  const name = SOURCE_HEADERS.find((each) => headers[each] !== undefined)
  const source = String(headers[name ?? ''])
  const isElsewhere = source.startsWith(names.get('web') ?? '')
  if (name === undefined || source.includes('sig=') || isElsewhere) return headers
  const container = new URL(source).pathname.split('/')[2] ?? ''
  const sas = containerSas({ service, account, container, permissions: 'rwdt' })
  return { ...headers, [name]: `${source}${source.includes('?') ? '&' : '?'}${sas}` }
}

function portOf(service: MatrixService): number {
  const { server } = world
  return service === 'dfs' ? server.dfsPort : server[`${service}Port`]
}

/** Waits until no copy is under way, except the one whose source waits. */
async function noCopies(): Promise<void> {
  const kinds = ['pending-copy', 'pending-file-copy']
  while ((await keysOf(world.server.store, kinds)).length > heldCount) await setImmediate()
}

/** How many copies wait for their source. */
let heldCount = 0

function countHeld({ operation, headers = {} }: Seed): void {
  if (String(headers['x-ms-copy-source']).endsWith('/held')) heldCount += 1
  if (operation.startsWith('Abort Copy')) heldCount -= 1
}

async function delegationKey(service: MatrixService): Promise<DelegationKey> {
  const names = world.namesFor('key')
  const intent = service === 'file' ? { 'x-ms-file-request-intent': 'backup' } : undefined
  const { text } = await rawRequest(
    { blobPort: portOf(service) },
    {
      method: 'POST',
      path: '/?restype=service&comp=userdelegationkey',
      headers: { authorization: `Bearer ${names.get('token')}`, ...intent },
      body: `<KeyInfo><Start>${names.get('soon')}</Start><Expiry>${names.get('later')}</Expiry></KeyInfo>`,
      sign: 'none',
    },
  )
  const field = (name: string): string => xmlText(text, name) ?? assert.fail(text)
  return {
    oid: field('SignedOid'),
    tid: field('SignedTid'),
    start: field('SignedStart'),
    expiry: field('SignedExpiry'),
    service: field('SignedService'),
    version: field('SignedVersion'),
    value: field('Value'),
  }
}
