import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { after, test } from 'node:test'
import { accessLine, redactUrl, type AccessEntry } from './access-log.ts'
import { LineBuffer } from './line-buffer.ts'
import { openLog, type Log } from './log.ts'
import { defaultOptions, type Options } from '../options/options.ts'

const folder = mkdtempSync(join(tmpdir(), 'lazuli-log-'))
after(() => rmSync(folder, { recursive: true }))

const NOW_MS = Date.UTC(2026, 10, 5, 21, 59, 7, 123)

const ENTRY: AccessEntry = {
  remoteAddress: '127.0.0.1',
  nowMs: NOW_MS,
  method: 'PUT',
  url: '/devstoreaccount1/c/b?sv=2026-02-06&sig=c2VjcmV0%3D&sp=rw',
  httpVersion: '1.1',
  status: 201,
  bytes: 0,
  durationMs: 1.23456,
  requestId: 'r-1',
  operation: 'Put Blob',
  errorCode: undefined,
  clientRequestId: undefined,
}

/** A stream that records what is written, and blocks while it is `full`. */
function collector() {
  const texts: string[] = []
  const drains: (() => void)[] = []
  const stream = {
    full: false,
    write: (text: string) => texts.push(text) > 0 && !stream.full,
    once: (_event: 'drain', listener: () => void) => drains.push(listener),
    drain: () => drains.splice(0).forEach((listener) => listener()),
    texts,
  }
  return stream
}

async function logged(options: Partial<Options>, use: (log: Log) => void): Promise<string[]> {
  const stdout = collector()
  const log = await openLog({ options: defaultOptions(options), stdout, clock: () => NOW_MS })
  use(log)
  await log.close()
  const text = stdout.texts.join('')
  return text === '' ? [] : text.trimEnd().split('\n')
}

const COMMON =
  '127.0.0.1 - - [05/Nov/2026:21:59:07 +0000] ' +
  '"PUT /devstoreaccount1/c/b?sv=2026-02-06&sig=REDACTED&sp=rw HTTP/1.1"'

test('an access log line has the Apache common format, then the operation and the rest', () => {
  assert.equal(accessLine(ENTRY), `${COMMON} 201 0 "Put Blob" "ms=1.235"`)
  const refused = {
    status: 412,
    bytes: 249,
    errorCode: 'ConditionNotMet',
    clientRequestId: 'A:"1"',
  }
  assert.equal(
    accessLine({ ...ENTRY, ...refused }),
    `${COMMON} 412 249 "Put Blob" "error=ConditionNotMet ms=1.235 client=A:%221%22"`,
  )
})

test('parsers of the Apache formats accept an access log line', () => {
  const line = accessLine({ ...ENTRY, errorCode: 'ConditionNotMet', clientRequestId: 'a\\b "c"' })
  // Logstash's COMMONAPACHELOG, and Fluentd's apache2, which matches the whole line.
  assert.match(
    line,
    /^(\S+) (\S+) (\S+) \[([^\]]+)\] "(\w+) (\S+)(?: HTTP\/([\d.]+))?" (\d+) (\d+|-)/,
  )
  assert.match(
    line,
    /^([^ ]*) [^ ]* ([^ ]*) \[([^\]]*)\] "(\S+)(?: +((?:[^"]|\\.)*?)(?: +\S*)?)?" ([^ ]*) ([^ ]*)(?: "((?:[^"]|\\.)*)" "((?:[^"]|\\.)*)")?$/,
  )
})

test('a long client request id is cut', () => {
  assert(accessLine({ ...ENTRY, clientRequestId: 'x'.repeat(60_000) }).length < 500)
})

const URLS: readonly [string, string][] = [
  ['/a/sig=1', '/a/sig=1'],
  ['/a?comp=list', '/a?comp=list'],
  ['/a?sig=x', '/a?sig=REDACTED'],
  ['/a?SIG=x&b=1', '/a?SIG=REDACTED&b=1'],
  ['/a?%73ig=x%26y', '/a?%73ig=REDACTED'],
  ['/a?b=1&sig=x=y==&c', '/a?b=1&sig=REDACTED&c'],
  ['/a?b=1?sig=x', '/a?b=1?sig=x'],
  ['/a?sig=x&sig=y', '/a?sig=REDACTED&sig=REDACTED'],
  ['/a?%=1&access_token=x', '/a?%=1&access_token=REDACTED'],
  ['/a"\n', '/a%22%0a'],
]

for (const [url, expected] of URLS) {
  test(`${JSON.stringify(url)} is logged as ${expected}`, () => {
    assert.equal(redactUrl(url), expected)
  })
}

test('text: time, request, level, message and fields on one line', async () => {
  const lines = await logged({}, (log) => {
    log.say('Lazuli 1.0')
    log.info('ready')
    log.warn('slow\nrequest', { requestId: 'r-1', tookMs: 5, name: 'a\r\nb' })
    log.debug('not said')
    log.access?.(ENTRY)
  })
  assert.deepEqual(lines, [
    'Lazuli 1.0',
    '2026-11-05T21:59:07.123Z - info: ready',
    '2026-11-05T21:59:07.123Z r-1 warn: slow request tookMs=5 name=a b',
    accessLine(ENTRY),
  ])
})

test('text: an error is logged with its stack, indented', async () => {
  const [first, second] = await logged({}, (log) => log.error('x', { error: new Error('a\nb') }))
  assert.equal(first, '2026-11-05T21:59:07.123Z - error: x error=Error: a')
  assert.equal(second, '    b')
})

test('json: one object per line, redacted too', async () => {
  const lines = await logged({ log: 'json' }, (log) => {
    log.say('Lazuli 1.0')
    log.error('failed', { requestId: 'r-1', error: new Error('why') })
    log.access?.(ENTRY)
  })
  const [said, failed, request] = lines.map((line): unknown => JSON.parse(line))
  assert.deepEqual(said, { level: 'info', time: '2026-11-05T21:59:07.123Z', msg: 'Lazuli 1.0' })
  assert.partialDeepStrictEqual(failed, {
    level: 'error',
    msg: 'failed',
    requestId: 'r-1',
    error: { message: 'why' },
  })
  assert.deepEqual(request, {
    level: 'info',
    time: '2026-11-05T21:59:07.123Z',
    remoteAddress: '127.0.0.1',
    method: 'PUT',
    url: '/devstoreaccount1/c/b?sv=2026-02-06&sig=REDACTED&sp=rw',
    status: 201,
    bytes: 0,
    durationMs: 1.235,
    requestId: 'r-1',
    operation: 'Put Blob',
    msg: 'request',
  })
})

const LEVELS: readonly [Options['logLevel'], string][] = [
  ['error', 'e'],
  ['warn', 'e w'],
  ['info', 'e w i'],
  ['debug', 'e w i d'],
]

for (const log of ['text', 'json'] as const) {
  for (const [logLevel, expected] of LEVELS) {
    test(`${log}: level ${logLevel} logs ${expected}`, async () => {
      const lines = await logged({ log, logLevel }, (log) => {
        log.error('e')
        log.warn('w')
        log.info('i')
        log.debug('d')
      })
      const messages = lines.map((line) => /(?:"msg":"|: )(\w)/.exec(line)?.[1])
      assert.equal(messages.join(' '), expected)
    })
  }
}

/** One of everything that a log prints. */
const KINDS = ['an error', 'a warning', 'a banner', 'a ready line', 'Put Blob']

async function printedBy(options: Partial<Options>): Promise<string[]> {
  const lines = await logged(options, (log) => {
    log.error('an error')
    log.warn('a warning')
    log.say('a banner')
    log.announce('a ready line')
    log.access?.(ENTRY)
  })
  if (options.log === 'json') for (const line of lines) JSON.parse(line)
  return lines.map((line) => KINDS.find((kind) => line.includes(kind)) ?? line)
}

// prettier-ignore
const PRINTED: readonly [Partial<Options>, string[]][] = [
  [{}, KINDS],
  [{ logLevel: 'warn' }, ['an error', 'a warning']],
  [{ logLevel: 'error' }, ['an error']],
  [{ silent: true }, ['an error', 'a ready line']],
  [{ silent: true, logLevel: 'debug' }, ['an error', 'a ready line']],
  [{ silent: true, logLevel: 'warn' }, ['an error']],
]

for (const log of ['text', 'json'] as const) {
  for (const [options, expected] of PRINTED) {
    test(`${log}: ${JSON.stringify(options)} prints ${expected.join(', ')}`, async () => {
      assert.deepEqual(await printedBy({ ...options, log }), expected)
    })
  }
}

test('--silent: no entries are created for an access log', async () => {
  await logged({ silent: true }, (log) => assert.equal(log.access, undefined))
})

test('--debug: a renamed file is replaced by a new one after a reopen, and no line is lost', async () => {
  const debug = join(folder, 'rotated.log')
  const rotated = `${debug}.1`
  await logged({ debug, silent: true }, (log) => {
    log.say('before')
    renameSync(debug, rotated)
    log.reopen()
    log.say('after')
  })
  const [old, current] = [rotated, debug].map((path) => readFileSync(path, 'utf8'))
  assert.equal(`${old}${current}`, 'before\nafter\n')
  assert.match(String(current), /after\n$/)
  assert.equal(statSync(debug).mode & 0o777, 0o600)
})

test('--debug: if there can be no new file, the old one is used on', async () => {
  const debug = join(folder, 'gone', 'debug.log')
  await logged({ debug, silent: true }, (log) => {
    renameSync(join(folder, 'gone'), join(folder, 'moved'))
    assert.throws(() => log.reopen())
    log.say('still')
  })
  assert.equal(readFileSync(join(folder, 'moved', 'debug.log'), 'utf8'), 'still\n')
})

test('--debug: a file that was truncated goes on at its beginning', async () => {
  const debug = join(folder, 'truncated.log')
  await logged({ debug, silent: true }, (log) => log.say('before'))
  await logged({ debug, silent: true }, (log) => {
    truncateSync(debug)
    log.say('after')
  })
  assert.equal(readFileSync(debug, 'utf8'), 'after\n')
})

test('--debug: everything is also appended to the file', async () => {
  const debug = join(folder, 'new', 'debug.log')
  const options = { debug, silent: true, logLevel: 'error' } as const
  const screen = await logged(options, (log) => {
    log.debug('found', { requestId: 'r-1' })
    log.access?.(ENTRY)
  })
  await logged(options, (log) => log.info('again'))
  assert.deepEqual(screen, [])
  assert.deepEqual(readFileSync(debug, 'utf8').trimEnd().split('\n'), [
    '2026-11-05T21:59:07.123Z r-1 debug: found',
    accessLine(ENTRY),
    '2026-11-05T21:59:07.123Z - info: again',
  ])
})

test('--debug: a bad path is a one-line error', async () => {
  await assert.rejects(
    logged({ debug: folder }, () => undefined),
    {
      name: 'StartError',
      message: `cannot write the debug log ${folder}: it is a folder; choose another path with --debug`,
    },
  )
})

test('the lines of one turn of the event loop are one write', async () => {
  const stream = collector()
  const lines = new LineBuffer(stream, (count) => `${count} log lines were dropped`)
  lines.write('a')
  lines.write('b')
  assert.deepEqual(stream.texts, [])
  await setImmediate()
  assert.deepEqual(stream.texts, ['a\nb\n'])
})

test('the memory of buffered lines is bounded, however long they are', async () => {
  const stream = collector()
  const lines = new LineBuffer(stream, (count) => `${count} dropped`)
  const long = 'x'.repeat(8 * 1024 * 1024)
  for (let i = 0; i < 10; i += 1) lines.write(long)
  await setImmediate()
  assert.equal(stream.texts.join('').length, 4 * (long.length + 1) + '6 dropped\n'.length)
})

test('lines are buffered while the stream is blocked, and dropped lines are counted', async () => {
  const stream = collector()
  const lines = new LineBuffer(stream, (count) => `${count} log lines were dropped`)
  stream.full = true
  lines.write('a')
  lines.flush()
  for (let i = 0; i < 65_536 + 3; i += 1) lines.write('b')
  await setImmediate()
  lines.flush()
  assert.deepEqual(stream.texts, ['a\n'])
  stream.full = false
  stream.drain()
  assert.match(stream.texts[1] ?? '', /^(b\n){65536}3 log lines were dropped\n$/)
})
