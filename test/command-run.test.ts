// The running command as a user sees it: logs, shutdown, health, metrics and fsck.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  writeSync,
} from 'node:fs'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { rawRequest, wireRequest } from './harness.ts'
import {
  accountSas,
  cleanUp,
  createContainer,
  getBlob,
  launch,
  putBlob,
  run,
  startServerProcess,
  stop,
  tempFolder,
  type ServerProcess,
} from './server-process.ts'

after(cleanUp)

const MEMORY = '--inMemoryPersistence'
const NO_SIGHUP = process.platform === 'win32' && 'there is no SIGHUP'

describe('the log', { concurrency: 2 }, () => {
  /** Sends a request whose signature must not appear in any log. */
  async function listContainers(server: ServerProcess): Promise<string> {
    const key = Buffer.alloc(32, 7).toString('base64')
    const sign = accountSas({ name: 'devstoreaccount1', key })
    await rawRequest(server, { method: 'GET', path: '/?comp=list', sign })
    const [, signature = ''] = /sig=([^&]+)/.exec(sign) ?? []
    return signature
  }

  const ENTRY =
    /^127\.0\.0\.1 - - \[\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d \+0000\] "PUT \/devstoreaccount1\/said\?restype=container HTTP\/1\.1" 201 0 "Create Container" "ms=[\d.]+"$/m

  test('has one line per request, in the format of Apache and Azurite', async () => {
    const server = await startServerProcess({ args: [MEMORY] })
    await createContainer(server, 'said')
    const signature = await listContainers(server)
    await server.printed(
      /"GET \/devstoreaccount1\/\?comp=list[^"]* HTTP\/1\.1" 403 \d+ "[^"]+" "error=\w+ ms=[\d.]+[^"]*"\n/,
    )
    assert.match(server.stdout(), ENTRY)
    assert.match(server.stdout(), /sig=REDACTED/)
    assert(!server.stdout().includes(signature))
  })

  test('has only the lines that tools wait for with --silent', async () => {
    const server = await startServerProcess({ args: [MEMORY, '--silent'] })
    await createContainer(server, 'said')
    const { stdout, stderr } = await stop(server)
    for (const line of stdout.trimEnd().split('\n'))
      assert.match(line, /^Lazuli (\w+ service (is|successfully) |is ready; )/)
    for (const service of ['Blob', 'Queue']) {
      assert.match(stdout, new RegExp(`Lazuli ${service} service is closing\\.\\.\\.\n`))
    }
    assert.match(stdout, /Lazuli Blob service successfully closed\n[^]*successfully closed\n$/)
    assert.equal(stderr, '')
  })

  test('is JSON with --log json, with fields for each request', async () => {
    const server = await startServerProcess({ args: [MEMORY, '--log', 'json'] })
    const { headers } = await createContainer(server, 'said')
    const { stdout } = await stop(server)
    const lines = stdout.trimEnd().split('\n').map((line): unknown => JSON.parse(line)) // prettier-ignore
    assert.partialDeepStrictEqual(lines[0], { msg: 'started', location: 'memory' })
    const entry = lines.find(
      (line) => typeof line === 'object' && line !== null && 'method' in line,
    )
    assert.partialDeepStrictEqual(entry, {
      level: 'info',
      msg: 'request',
      method: 'PUT',
      url: '/devstoreaccount1/said?restype=container',
      status: 201,
      requestId: headers['x-ms-request-id'],
    })
  })

  test('says nothing with --logLevel warn but warnings', async () => {
    const args = [MEMORY, '--logLevel', 'warn', '--blobHost', '0.0.0.0', '--blobPort', '0']
    const server = launch({ args: [...args, '--adminPort', '0'] })
    await server.printed(/warn: listening on 0\.0\.0\.0 [^\n]+\n/)
    const { stdout } = await stop(server)
    assert.equal(stdout.split('\n').length, 2)
  })

  test('goes on in new files after SIGHUP', { skip: NO_SIGHUP }, async () => {
    const folder = tempFolder('rotated')
    const files = ['debug', 'journal'].map((name) => join(folder, name))
    const [debug = '', journalFile = ''] = files
    const server = await startServerProcess({
      args: [MEMORY, '--debug', debug, '--journalFile', journalFile],
    })
    await createContainer(server, 'old')
    for (const file of files) renameSync(file, `${file}.1`)
    server.child.kill('SIGHUP')
    await server.printed(/log files reopened/)
    await createContainer(server, 'new')
    await stop(server)
    for (const file of files) {
      assert.match(readFileSync(`${file}.1`, 'utf8'), /devstoreaccount1\/old/, file)
      assert.match(readFileSync(file, 'utf8'), /devstoreaccount1\/new/, file)
      assert.doesNotMatch(readFileSync(file, 'utf8'), /devstoreaccount1\/old/, file)
    }
  })

  test('is complete in the --debug file, whatever the console shows', async () => {
    const file = join(tempFolder('debug'), 'logs', 'debug.log')
    const server = await startServerProcess({ args: [MEMORY, '--silent', '--debug', file] })
    await createContainer(server, 'said')
    const signature = await listContainers(server)
    await stop(server)
    const text = readFileSync(file, 'utf8')
    assert.match(text, ENTRY)
    assert.match(text, /successfully listening at/)
    assert.match(text, /successfully closed\n$/)
    assert(!text.includes(signature))
  })
})

describe('on a signal, the server', { concurrency: 2 }, () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`${signal}: finishes and stores an upload in progress`, async () => {
      const args = ['--silent', '--location', tempFolder('stop')]
      const server = await startServerProcess({ args })
      assert.equal((await createContainer(server, 'stop')).status, 201)
      const body = Buffer.alloc(1_000_000, signal)
      const upload = uploadHalf(server, '/stop/upload', body)
      await upload.begun
      server.child.kill(signal)
      await server.printed(/Blob service is closing\.\.\./)
      assert.equal(await upload.finish(), 201)
      assert.equal((await server.ended).code, 0)
      await assert.rejects(getBlob(server, '/stop/upload'), /ECONNREFUSED/)

      const again = await startServerProcess({ args })
      assert((await getBlob(again, '/stop/upload')).body.equals(body))
    })
  }

  test('accepts no new connections while it shuts down', async () => {
    const { server, upload } = await closeDuringUpload()
    const socket = connect(server.blobPort, '127.0.0.1')
    await assert.rejects(once(socket, 'connect'), /ECONNREFUSED/)
    assert.equal(await upload.finish(), 201)
    assert.equal((await server.ended).code, 0)
  })

  test('exits at once on a second signal', async () => {
    const { server, upload } = await closeDuringUpload()
    server.child.kill()
    assert.equal((await server.ended).code, 143)
    await assert.rejects(upload.finish())
  })

  test('does not wait for idle keep-alive connections', async () => {
    const server = await startServerProcess({ args: [MEMORY, '--blobKeepAliveTimeout', '600'] })
    assert.equal((await createContainer(server, 'stop')).status, 201)
    const upload = uploadHalf(
      server,
      '/stop/upload',
      Buffer.alloc(1_000_000),
      new Agent({ keepAlive: true }),
    )
    await upload.begun
    server.child.kill()
    await server.printed(/Blob service is closing\.\.\./)
    assert.equal(await upload.finish(), 201)
    // It would be 1 if the connection had held up the shutdown until its time limit.
    assert.equal((await server.ended).code, 0)
  })

  /** A server that is closing and waits for the second half of an upload. */
  async function closeDuringUpload() {
    const server = await startServerProcess({ args: [MEMORY, '--silent'] })
    assert.equal((await createContainer(server, 'stop')).status, 201)
    const upload = uploadHalf(server, '/stop/upload', Buffer.alloc(1_000_000))
    await upload.begun
    server.child.kill()
    await server.printed(/Blob service is closing\.\.\./)
    return { server, upload }
  }

  /** Sends the first half of a Put Blob; the server then waits for the second. */
  function uploadHalf(
    { blobPort: port }: ServerProcess,
    path: string,
    body: Buffer,
    agent: Agent | false = false,
  ) {
    const headers = { 'x-ms-blob-type': 'BlockBlob', expect: '100-continue' }
    const wire = wireRequest({ method: 'PUT', path, headers, body })
    const sent = request({ host: '127.0.0.1', port, agent, method: 'PUT', ...wire })
    const status = new Promise<number>((resolve, reject) => {
      sent.once('error', reject)
      sent.once('response', (response) => resolve(response.resume().statusCode ?? 0))
    })
    // The caller that awaits the end handles a rejection.
    status.catch(() => undefined)
    const begun = Promise.race([once(sent, 'continue'), status]).then((first) => {
      assert(typeof first !== 'number', `answered ${String(first)} before the body`)
      return new Promise<void>((resolve) => {
        sent.write(body.subarray(0, body.length / 2), () => resolve())
      })
    })
    sent.flushHeaders()
    const finish = (): Promise<number> => {
      sent.end(body.subarray(body.length / 2))
      return status
    }
    return { begun, finish }
  }
})

describe('health and metrics', () => {
  let server: ServerProcess
  before(async () => {
    server = await startServerProcess({ args: [MEMORY, '--silent'] })
    assert.equal((await createContainer(server, 'metered')).status, 201)
    assert.equal((await createContainer(server, 'metered')).status, 409)
    assert.equal((await putBlob(server, '/metered/blob', Buffer.alloc(1_000))).status, 201)
    const stale = { 'x-ms-blob-type': 'BlockBlob', 'if-match': '"0x1"' }
    const put = { method: 'PUT', path: '/metered/blob', headers: stale, body: 'no' }
    assert.equal((await rawRequest(server, put)).status, 412)
    assert.equal((await getBlob(server, '/metered/blob')).body.length, 1_000)
    assert.equal((await getBlob(server, '/metered/none')).status, 404)
  })

  for (const [path, text] of [
    ['/health/live', 'live\n'],
    ['/health/ready', 'ready\n'],
  ] as const) {
    test(path, async () => {
      const answer = await fetch(`${server.adminUrl}${path}`)
      assert.deepEqual([answer.status, await answer.text()], [200, text])
    })
  }

  test('/metrics', async () => {
    const answer = await fetch(`${server.adminUrl}/metrics`)
    assert.match(answer.headers.get('content-type') ?? '', /^text\/plain/)
    const lines = new Set((await answer.text()).split('\n'))
    const put = 'service="blob",operation="Put Blob"'
    for (const line of [
      'lazuli_requests_total{service="blob",operation="Create Container",status="201"} 1',
      'lazuli_requests_total{service="blob",operation="Create Container",status="409"} 1',
      'lazuli_conflicts_total{service="blob",operation="Create Container",code="ContainerAlreadyExists"} 1',
      `lazuli_requests_total{${put},status="201"} 1`,
      `lazuli_conflicts_total{${put},code="ConditionNotMet"} 1`,
      'lazuli_leases_active 0',
      'lazuli_messages_invisible 0',
      'lazuli_smb_opens 0',
      'lazuli_smb_sessions 0',
      'lazuli_count_is_lower_bound{count="leases"} 0',
      `lazuli_request_bytes_total{${put}} 1002`,
      `lazuli_request_duration_seconds_count{${put}} 2`,
      'lazuli_requests_total{service="blob",operation="Get Blob",status="404"} 1',
    ]) {
      assert(lines.has(line), `${line}\nis not in\n${[...lines].join('\n')}`)
    }
    const stored = [...lines].find((line) => line.startsWith('lazuli_store_bytes '))
    assert(Number(stored?.split(' ')[1]) > 1_000)
  })

  test('lazuli health exits with 0 if the server is ready and 1 if it is not running', async () => {
    const args = ['health', '--adminPort', new URL(server.adminUrl).port]
    const ready = await run({ args })
    assert.deepEqual([ready.code, ready.stdout, ready.stderr], [0, 'ready\n', ''])
    await stop(server)
    const notRunning = await run({ args })
    assert.equal(notRunning.code, 1)
    assert.match(
      notRunning.stdout,
      /^not ready: http:\/\/127\.0\.0\.1:\d+\/health\/ready: connection refused/,
    )
  })
})

test('lazuli fsck exits with 0 for good data and 1 for a damaged extent, which it names', async () => {
  const location = tempFolder('fsck')
  const server = await startServerProcess({ args: ['--silent', '--location', location] })
  assert.equal((await createContainer(server, 'checked')).status, 201)
  for (const name of ['first', 'second']) {
    assert.equal(
      (await putBlob(server, `/checked/${name}`, Buffer.alloc(100_000, name))).status,
      201,
    )
  }
  assert.equal((await stop(server)).code, 0)

  const good = await run({ args: ['fsck', '--location', location] })
  assert.match(
    good.stdout,
    /^\d+ records, 1 extents, 200000 bytes of content checked\nno problems\n$/,
  )
  assert.equal(good.code, 0)

  const [extent = ''] = readdirSync(join(location, 'extents'))
  flipByte(join(location, 'extents', extent), 150_000)
  const damaged = await run({ args: ['fsck', '--location', location] })
  assert.match(
    damaged.stdout,
    /\nsliceDamaged \["blob",\d+,"second"\]: CRC-32 \d+ instead of \d+ \(extent 1, offset 100000\)\n1 problems\n$/,
  )
  assert.equal(damaged.code, 1)
})

function flipByte(path: string, position: number): void {
  const file = openSync(path, 'r+')
  const byte = Buffer.alloc(1)
  readSync(file, byte, 0, 1, position)
  writeSync(file, Buffer.of((byte[0] ?? 0) ^ 1), 0, 1, position)
  closeSync(file)
}
