// What docs/rest-api.md says is refused is refused, with the answer that it names.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, test } from 'node:test'
import { REFUSALS, type RefusedService } from '../scripts/docs/refusals.ts'
import {
  ACCOUNT,
  ACCOUNT_KEY,
  outcome,
  rawRequest,
  startTestServer,
  type Headers,
} from './harness.ts'
import { LAKE } from './datalake/fixture.ts'

// So that a copy from this port reaches the header that is refused.
const server = await startTestServer({ allowCopyFrom: ['http://localhost:1/*'] })
after(() => server.close())

const PORTS: Readonly<Record<RefusedService, number>> = {
  blob: server.blobPort,
  table: server.tablePort,
  file: server.filePort,
  lake: server.blobPort,
}

/** The signature of a SAS is the same for all services. */
function sasFor(account: string): string {
  const fields = {
    sp: 'rwdlacuptfi',
    ss: 'bfqt',
    srt: 'sco',
    se: '2099-01-01T00:00:00Z',
    sv: '2023-11-03',
  }
  const { sp, ss, srt, se, sv } = fields
  const text = [account, sp, ss, srt, '', se, '', '', sv, '', ''].join('\n')
  const hmac = createHmac('sha256', Buffer.from(ACCOUNT_KEY, 'base64'))
  return new URLSearchParams({ ...fields, sig: hmac.update(text).digest('base64') }).toString()
}

type Sent = {
  readonly service: RefusedService
  readonly account?: string
  readonly method: string
  readonly path: string
  readonly headers?: Headers
  readonly body?: string
}

function send({ service, account = ACCOUNT, ...request }: Sent) {
  return rawRequest({ blobPort: PORTS[service] }, { ...request, account, sign: sasFor(account) })
}

const JSON_ONLY = {
  'content-type': 'application/json',
  accept: 'application/json;odata=nometadata',
}
const THERE: readonly Sent[] = [
  ...[ACCOUNT, LAKE].flatMap((account): Sent[] => [
    { service: 'blob', account, method: 'PUT', path: '/box?restype=container' },
    { service: 'blob', account, method: 'PUT', path: '/box/blob', headers: { 'x-ms-blob-type': 'BlockBlob' }, body: 'a,b\n' },
    { service: 'lake', account, method: 'PUT', path: '/box/file?resource=file' },
    { service: 'lake', account, method: 'PUT', path: '/box/directory?resource=directory' },
  ]),
  { service: 'table', method: 'POST', path: '/Tables', headers: JSON_ONLY, body: '{"TableName":"Things"}' },
  { service: 'file', method: 'PUT', path: '/box?restype=share' },
  { service: 'file', method: 'PUT', path: '/box/file', headers: { 'x-ms-type': 'file', 'x-ms-content-length': '512' } },
] // prettier-ignore
for (const each of THERE) {
  const { status, text } = await send(each)
  assert.equal(status, 201, `${each.path}: ${text}`)
}

for (const refusal of REFUSALS) {
  const { service, what, answer, toLake = false } = refusal
  test(`${service}: ${what}, ${refusal.method} ${refusal.path}`, async () => {
    const answered = await send({ ...refusal, account: toLake ? LAKE : ACCOUNT })
    const { 'odata.error': error } = service === 'table' ? JSON.parse(answered.text) : {}
    const actual = error === undefined ? outcome(answered) : `${answered.status} ${error.code}`
    assert.equal(actual, answer, answered.text)
  })
}
