import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics, type RequestOutcome } from './metrics.ts'

const OK: RequestOutcome = {
  status: 200,
  errorCode: undefined,
  durationMs: 0.3,
  requestBytes: 0,
  responseBytes: 4096,
}

async function exposed(
  use: (metrics: ReturnType<typeof createMetrics>) => void,
): Promise<string[]> {
  let sizeBytes = 0
  const store = { name: 'lazuli_store_bytes' } as const
  const metrics = createMetrics([
    { ...store, labels: { part: 'records' }, read: () => (sizeBytes += 10) },
    { ...store, labels: { part: 'extents' }, read: () => 7 },
  ])
  use(metrics)
  const { contentType, text } = await metrics.expose()
  assert.match(contentType, /^text\/plain; version=0\.0\.4/)
  return text.split('\n')
}

test('a counter starts with all of its values', async () => {
  const lines = await exposed((metrics) => {
    const values = ['accepted', 'refused'] as const
    const count = metrics.counter({ name: 'lazuli_smb_logins_total', label: 'how', values })
    count('accepted')
    count('accepted')
  })
  for (const line of [
    '# TYPE lazuli_smb_logins_total counter',
    'lazuli_smb_logins_total{how="accepted"} 2',
    'lazuli_smb_logins_total{how="refused"} 0',
  ]) {
    assert(lines.includes(line), line)
  }
})

test('requests, durations, bytes and conflicts are counted by operation', async () => {
  const lines = await exposed((metrics) => {
    const get = metrics.operation('blob', 'Get Blob')
    get.record(OK)
    get.record({ ...OK, durationMs: 0.25 })
    get.record({ ...OK, durationMs: 60_000 })
    const put = metrics.operation('blob', 'Put Blob')
    put.record({ ...OK, status: 201, requestBytes: 100, responseBytes: 0 })
    put.record({ ...OK, status: 412, errorCode: 'LeaseIdMissing' })
    metrics
      .operation('blob', 'Put Blob')
      .record({ ...OK, status: 412, errorCode: 'ConditionNotMet' })
  })
  const get = 'service="blob",operation="Get Blob"'
  const put = 'service="blob",operation="Put Blob"'
  for (const line of [
    '# TYPE lazuli_requests_total counter',
    `lazuli_requests_total{${get},status="200"} 3`,
    `lazuli_requests_total{${put},status="201"} 1`,
    `lazuli_requests_total{${put},status="412"} 2`,
    '# TYPE lazuli_request_duration_seconds histogram',
    `lazuli_request_duration_seconds_bucket{le="0.00025",${get}} 1`,
    `lazuli_request_duration_seconds_bucket{le="0.0005",${get}} 2`,
    `lazuli_request_duration_seconds_bucket{le="30",${get}} 2`,
    `lazuli_request_duration_seconds_bucket{le="+Inf",${get}} 3`,
    `lazuli_request_duration_seconds_count{${get}} 3`,
    `lazuli_request_duration_seconds_sum{${get}} 60.00055`,
    `lazuli_request_bytes_total{${put}} 100`,
    `lazuli_response_bytes_total{${get}} 12288`,
    `lazuli_conflicts_total{${put},code="LeaseIdMissing"} 1`,
    `lazuli_conflicts_total{${put},code="ConditionNotMet"} 1`,
    '# TYPE lazuli_store_bytes gauge',
    'lazuli_store_bytes{part="records"} 10',
    'lazuli_store_bytes{part="extents"} 7',
  ]) {
    assert(lines.includes(line), `${line}\nis not in\n${lines.join('\n')}`)
  }
})

const REFUSALS: readonly [number, string, boolean][] = [
  [404, 'BlobNotFound', false],
  [409, 'BlobAlreadyExists', true],
  [409, 'SharingViolation', true],
  [412, 'ConditionNotMet', true],
  [404, 'MessageNotFound', true],
  [400, 'PopReceiptMismatch', true],
  [400, 'InvalidHeaderValue', false],
]

for (const [status, errorCode, isConflict] of REFUSALS) {
  test(`${status} ${errorCode} is ${isConflict ? 'a' : 'no'} conflict, also in a batch`, async () => {
    const lines = await exposed((metrics) => {
      metrics.operation('queue', 'X').record({ ...OK, status, errorCode })
      metrics.refusal('table', { operation: 'Y', status, errorCode })
    })
    for (const labels of ['service="queue",operation="X"', 'service="table",operation="Y"']) {
      const line = `lazuli_conflicts_total{${labels},code="${errorCode}"} 1`
      assert.equal(lines.includes(line), isConflict, line)
    }
    assert(!lines.some((line) => line.startsWith('lazuli_requests_total{service="table"')))
  })
}

test('failed logins are counted by service and code, from the first request on', async () => {
  const lines = await exposed((metrics) => {
    const put = metrics.operation('blob', 'Put Blob')
    put.record({ ...OK, status: 403, errorCode: 'AuthenticationFailed' })
    put.record({ ...OK, status: 403, errorCode: 'AuthorizationFailure' })
    metrics.refusal('blob', {
      operation: 'Delete Blob',
      status: 403,
      errorCode: 'AuthenticationFailed',
    })
    metrics.operation('queue', 'Put Message').record(OK)
  })
  const failures = lines.filter((line) => line.startsWith('lazuli_authentication_failures_total{'))
  const row = (service: string, code: string, count: number): string =>
    `lazuli_authentication_failures_total{service="${service}",code="${code}"} ${count}`
  assert.deepEqual(failures, [
    row('blob', 'AuthenticationFailed', 2),
    row('blob', 'InvalidAuthenticationInfo', 0),
    row('blob', 'NoAuthenticationInformation', 0),
    row('queue', 'AuthenticationFailed', 0),
    row('queue', 'InvalidAuthenticationInfo', 0),
    row('queue', 'NoAuthenticationInformation', 0),
  ])
})

test('a gauge without a value has no row', async () => {
  const metrics = createMetrics([
    { name: 'lazuli_nodes', read: async () => undefined },
    { name: 'lazuli_store_bytes', read: async () => 2 },
  ])
  const { text } = await metrics.expose()
  assert.doesNotMatch(text, /lazuli_nodes/)
  assert.match(text, /^lazuli_store_bytes 2$/m)
})

test('each scrape shows the current numbers, and servers do not share them', async () => {
  const metrics = createMetrics([])
  const get = metrics.operation('blob', 'Get Blob')
  for (const count of [1, 2]) {
    get.record(OK)
    const { text } = await metrics.expose()
    assert.match(text, new RegExp(`^lazuli_requests_total\\{.*\\} ${count}$`, 'm'))
  }
  const other = await createMetrics([]).expose()
  assert.doesNotMatch(other.text, /Get Blob/)
})
