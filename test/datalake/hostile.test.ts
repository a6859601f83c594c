// Every operation of Data Lake Storage with mutations in every part of its request: each gets a proper answer, never an internal error, and what
// is refused changes nothing. HOSTILE_LAKE_SEED and HOSTILE_LAKE_COUNT allow other and longer runs.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { LAKE_SEEDS } from '../authorization/lake-seeds.ts'
import { ACCOUNT, sendTo, type RawRequest } from '../harness.ts'
import { bytesOf, HostileClient, type Answer } from '../hostile-client.ts'
import { mutateRequest } from '../hostile-mutation.ts'
import { keepFrom, requestOf, type Names } from '../hostile-seed.ts'
import { changesOf, problemsOf, stateOf } from '../hostile-store.ts'
import { WORDS } from '../hostile-words.ts'
import { randomFrom } from '../random.ts'
import { runTestServer, type RunningTestServer } from '../running-server.ts'
import { LAKE, sendAs } from './fixture.ts'

const SEED = Number(process.env['HOSTILE_LAKE_SEED'] ?? 1)
/** Mutations of each seed in a run of the scenario, of which there is one for each kind of account. */
const COUNT = Number(process.env['HOSTILE_LAKE_COUNT'] ?? 30)

let server: RunningTestServer
before(async () => {
  server = await runTestServer({ silent: true, logLevel: 'error' })
  const retention = '<DeleteRetentionPolicy><Enabled>true</Enabled><Days>3</Days></DeleteRetentionPolicy>'
  const body = `<StorageServiceProperties>${retention}</StorageServiceProperties>`
  const path = '/?restype=service&comp=properties'
  assert.equal((await sendAs(server.blobPort, LAKE)('PUT', path, {}, body)).status, 202)
  assert.equal((await sendTo(server.blobPort)('PUT', path, {}, body)).status, 202)
}) // prettier-ignore
after(() => server.close())

const LAKE_WORDS = ['..', '../../secret', 'user::rwx,other::---', 'default:', 'mask::', 'a=Yg==', '-1', 'true', 'filesystem', 'posix', 'append', ...WORDS] // prettier-ignore

for (const account of [LAKE, ACCOUNT]) {
  test(`mutated requests to ${account} get proper answers (seed ${SEED})`, async () => {
    const random = randomFrom(SEED)
    const names: Names = new Map([['account', account], ['box', 'hostile']]) // prettier-ignore
    const words = {
      words: LAKE_WORDS,
      source: () => `/hostile/${random.pick(LAKE_WORDS)}`,
      other: () => requestOf(random.pick(LAKE_SEEDS), names),
    }
    const faults: string[] = []
    const statuses = new Set<number>()
    for (const seed of LAKE_SEEDS) {
      for (let count = 0; count < COUNT; count += 1) {
        const request = mutateRequest({ ...requestOf(seed, names), account }, random, words)
        const before = await stateOf(server.store)
        const answer = await send(request)
        if (answer === undefined) continue
        statuses.add(answer.status)
        const fault = faultOf(answer, request)
        if (fault !== undefined) faults.push(`${fault}: ${JSON.stringify(request).slice(0, 1_000)}`)
        if (answer.status < 300) continue
        const changed = changesOf(before, await stateOf(server.store))
        if (changed.length > 0) faults.push(`${answer.status} changed ${changed.join()}: ${JSON.stringify(request).slice(0, 1_000)}`) // prettier-ignore
      }
      const good = await send({ ...requestOf(seed, names), account })
      if (good !== undefined) keepFrom(seed, good, names)
    }
    assert.deepEqual(faults, [])
    assert.equal(server.logged(), '')
    for (const status of [200, 201, 400, 404, 409]) assert(statuses.has(status), `no ${status}`)
  })
}

test('afterwards, fsck finds nothing', async () => {
  server.advance(61_000)
  await server.store.sweep()
  assert.deepEqual(await problemsOf(server.store), [])
})

/** undefined: the client can't sign the path. */
async function send(request: RawRequest): Promise<Answer | undefined> {
  const client = new HostileClient(server.dfsPort)
  try {
    client.send(bytesOf(request))
    return await client.answer(request.method)
  } catch (error) {
    if (error instanceof URIError) return undefined
    throw error
  } finally {
    client.close()
  }
}

/** Errors have their code in the header and in the body, which is JSON or XML. */
function faultOf({ status, headers, body }: Answer, { method }: RawRequest): string | undefined {
  const code = headers['x-ms-error-code']
  if (status >= 500) return `${status} ${code}`
  // A request that is not HTTP gets no more than a status.
  if (status < 400 || headers['connection'] === 'close') return undefined
  if (code === undefined) return `${status} without a code`
  const isNamed = method === 'HEAD' || body.length === 0 || body.includes(code)
  return isNamed ? undefined : `the body does not say ${code}`
}
