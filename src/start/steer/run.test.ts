import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { addEntry } from '../../../test/journal-entries.ts'
import { NOW, smallParts } from '../../../test/small-parts.ts'
import { Journal } from '../../control/journal.ts'
import { hostRule } from '../../http/protocol/allowed-host.ts'
import { parseRequestHead } from '../../http/protocol/request-head.ts'
import { startAdmin, type Admin } from '../admin/admin.ts'
import type { ControlParts } from '../admin/api/parts.ts'
import { decodeCommand } from '../options/command.ts'
import { runSteer } from './run.ts'
import { PIPE, screenOf, type Screen } from './screen.ts'

const admins: Admin[] = []
after(() => Promise.all(admins.map((admin) => admin.close())))

async function serve(parts: ControlParts, token?: string): Promise<string> {
  const admin = await startAdmin({
    host: '127.0.0.1',
    port: 0,
    portMayMove: false,
    acceptsHost: hostRule([]),
    ready: () => true,
    metrics: { expose: async () => ({ contentType: 'text/plain', text: '' }) },
    nodes: () => [],
    caPem: undefined,
    access: { control: undefined, token },
    report: (message, error) => assert.fail(`${message}: ${String(error)}`),
    parts,
  })
  admins.push(admin)
  return admin.url
}

type Run = {
  readonly url: string
  readonly env?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  readonly print?: (lines: readonly string[]) => void
  readonly screen?: Screen
}

/** Splits at spaces, except in JSON. */
async function lazuli(
  line: string,
  { url, env = {}, signal = new AbortController().signal, print, screen = PIPE }: Run,
) {
  const lines: string[] = []
  const argv = ['node', 'lazuli', ...line.split(/ (?![^{]*\})/), '--adminUrl', url]
  const command = decodeCommand({ argv, env, cwd: '/work', version: '1' })
  assert(command.kind === 'steer')
  await runSteer(command, { print: print ?? ((more) => lines.push(...more)), signal, screen })
  return lines
}

const SHOWN: readonly [string, readonly string[], unknown?][] = [
  ['leases', [
    'KIND  RESOURCE  STATE   LEFT   HOLDER  SINCE',
    'blob  /a/c/b    leased  3.5 s  - (#2)  -',
  ]],
  ['leases break /a/c/b', ['done'], ['break', '/a/c/b']],
  ['messages', ['no message is invisible']],
  ['messages visible a q m', ['done'], ['visible', { account: 'a', queue: 'q', messageId: 'm' }]],
  ['opens', ['nothing is open over SMB']],
  ['opens close 0a/1', ['done'], ['close', '0a/1']],
  ['locks', ['nothing is locked']],
  ['copies', ['nothing is being copied']],
  ['uncommitted', ['there are no uncommitted blocks']],
  ['races', ['no races']],
  ['races --expectNoRaces', ['no races'], ['expectNoRaces']],
  ['clock', [`${NOW}, running, as the machine's clock`]],
  ['clock hold', [`${NOW}, held, as the machine's clock`], ['hold']],
  ['clock advance PT60S', [`${NOW}, held, as the machine's clock`], ['advance', 'PT60S']],
  ['clock advance 60000', [`${NOW}, held, as the machine's clock`], ['advance', 60_000]],
  [`clock set ${NOW}`, [`${NOW}, held, as the machine's clock`], ['set', NOW]],
  ['clock run', [`${NOW}, held, as the machine's clock`], ['run']],
  ['barriers', ['ID  AT       MATCH     HELD  RELEASED', '1   checked  anything  -     0']],
  ['barriers hold {"at":"checked","match":{"operation":"Put Blob"}}', ['ID  AT       MATCH     HELD  RELEASED', '1   checked  anything  -     0'], ['hold', { at: 'checked', match: { operation: 'Put Blob' } }]],
  ['barriers release 1 B A', ['ID  AT       MATCH     HELD  RELEASED', '1   checked  anything  -     0'], ['release', 'B', 'A']],
  ['barriers held 1 2', ['ID  AT       MATCH     HELD  RELEASED', '1   checked  anything  -     0'], ['held', 2, { timeLimit: 60_000 }]],
  ['barriers remove 1', ['done']],
  ['barriers clear', ['done'], ['clear barriers']],
  ['journal clear', ['done']],
  ['faults', ['no faults']],
  ['faults add {"effect":{"status":503},"times":1}', ['ID  MATCH     EFFECT          MATCHED  STRUCK', '1   anything  {"status":503}  0        0'], ['add', { effect: { status: 503 }, times: 1 }]],
  ['faults remove 1', ['done']],
  ['faults clear', ['done'], ['clear faults']],
  ['snapshots', ['NAME  TIME                  RECORDS', 'one   2027-01-01T00:00:00Z  5']],
  ['snapshots save new', ['NAME  TIME                  RECORDS', 'new   2027-01-01T00:00:00Z  5']],
  ['snapshots restore one', ['done'], ['restore', 'one']],
  ['snapshots delete one', ['done']],
  ['reset', ['containers, queues, tables and shares removed: 3'], ['reset', {}]],
  ['reset --account a --service blob --container c', ['containers, queues, tables and shares removed: 3'], ['reset', { account: 'a', service: 'blob', container: 'c' }]],
  ['seed data', ['done'], ['seed', '/work/data']],
  ['export /data', ['done'], ['export', '/data']],
  ['snapshots --json', JSON.stringify({ snapshots: [{ name: 'one', time: NOW, recordCount: 5 }] }, undefined, 2).split('\n')],
] // prettier-ignore

for (const [line, lines, question] of SHOWN) {
  test(`lazuli ${line}`, async () => {
    const { parts, asked } = smallParts()
    const shown = await lazuli(line, { url: await serve(parts) })
    assert.deepEqual(shown.join('\n').split('\n'), lines)
    assert.deepEqual(asked, question === undefined ? [] : [question])
    for (const each of shown.join('\n').split('\n')) assert(each.length <= 120)
  })
}

/** B overwrites what A has read; A's conditional write is refused. */
function lostRace(): Journal {
  const journal = new Journal({
    countMax: 10,
    bytesMax: 1e6,
    clientBy: ['name'],
    decodeHead: parseRequestHead,
  })
  const lease = undefined
  const note = (before: number, after: number) => ({
    kind: 'blob' as const,
    key: 'blob/doc',
    before: { version: before, lease },
    after: { version: after, lease },
    isWritten: before !== after,
  })
  const put = (client: string, atMs: number, notes: ReturnType<typeof note>, errorCode?: string) =>
    journal.record({
      startedMs: Date.UTC(2027, 0, 1, 21, 59, 7, atMs),
      durationMs: 1,
      service: 'blob',
      operation: 'Put Blob',
      writes: true,
      account: 'devstoreaccount1',
      path: ['race', 'doc.json'],
      headText: `PUT /x HTTP/1.1\r\nHost: x\r\nx-lazuli-client: ${client}\r\nIf-Match: "0x1"\r\n`,
      address: '127.0.0.1',
      connection: 1,
      identity: 'shared-key',
      requestId: 'r',
      status: errorCode === undefined ? 201 : 412,
      errorCode,
      notes: [notes],
    })
  put('B', 0, note(1, 2))
  put('A', 12, note(2, 2), 'ConditionNotMet')
  return journal
}

test('lazuli journal shows at a glance who lost to whom', async () => {
  const url = await serve({ journal: lostRace() })
  const lines = await lazuli('journal', { url })
  assert.deepEqual(lines, [
    'TIME          #        CLIENT            OPERATION                      RESOURCE',
    '21:59:07.000  #1       B                 Put Blob                  201  /devstoreaccount1/race/doc.json',
    '21:59:07.012  #2       A                 Put Blob                  412  /devstoreaccount1/race/doc.json',
    '              ConditionNotMet, refused by If-Match, lost to #1 (client B, Put Blob, 12 ms before)',
  ])
  assert.equal((await lazuli('journal --conflicts', { url })).length, 3)
  assert.deepEqual(await lazuli('journal --client C', { url }), ['no entries'])
  const [json = ''] = await lazuli('journal --json --resource /devstoreaccount1/race', { url })
  assert.partialDeepStrictEqual(JSON.parse(json), {
    entries: [{ id: 1 }, { id: 2, lostTo: 1, winner: { client: 'B', beforeMs: 12 } }],
  })
})

test('names of clients and resources cannot move the cursor', async () => {
  const journal = new Journal({
    countMax: 10,
    bytesMax: 1e6,
    clientBy: ['name'],
    decodeHead: parseRequestHead,
  })
  addEntry(journal, 1, '\u009b2J\u009bH')
  const lines = await lazuli('journal', { url: await serve({ journal }) })
  assert.match(lines.join('\n'), /%9b2J%9bH/)
})

test('in a narrow or a wide terminal every line fits, and conflicts are red', async () => {
  const url = await serve({ journal: lostRace() })
  for (const columns of [80, 160]) {
    const screen = screenOf({ isTTY: true, columns }, {})
    const lines = await lazuli('journal', { url, screen })
    const plain = lines.map(withoutColors)
    assert.deepEqual(
      plain,
      await lazuli('journal', { url, screen: { ...screen, hasColors: false } }),
    )
    for (const line of plain) assert(line.length <= columns, line)
    assert(plain.some((line) => line.endsWith('race/doc.json')))
    const red = lines.filter((line) => line.includes('\u001b[31m')).map(withoutColors)
    assert.match(red[0] ?? '', / 412 /)
    assert.match(
      red.slice(1).join(' '),
      /lost to #1\s+\(client B,\s+Put\s+Blob,\s+12\s+ms\s+before\)/,
    )
  }
  assert.deepEqual(screenOf({ isTTY: true, columns: 80 }, { NO_COLOR: '1' }), {
    width: 80,
    hasColors: false,
  })
  assert.deepEqual(screenOf({ columns: 80 }, {}), PIPE)
})

// oxlint-disable-next-line no-control-regex -- the escape that begins a colour
const withoutColors = (text: string): string => text.replaceAll(/\u001b\[\d+m/g, '')

for (const flag of ['', ' --json']) {
  test(`lazuli journal --follow${flag} goes on with new entries until nobody reads`, async () => {
    const journal = lostRace()
    const url = await serve({ journal })
    const unread = new AbortController()
    const lines: string[] = []
    await lazuli(`journal --follow${flag}`, {
      url,
      signal: unread.signal,
      print: (more) => {
        lines.push(...more)
        if (lines.some((line) => /#4|"id":4/.test(line))) unread.abort()
        else addEntry(journal, journal.lastId + 1)
      },
    })
    assert(lines.some((each) => /#3|"id":3/.test(each)))
  })
}

const FAILED: readonly [string, RegExp][] = [
  ['barriers release 7', /^there is no barrier 7$/],
  ['clock advance soon now', /^expected lazuli clock, lazuli clock hold, lazuli clock advance PT60S, lazuli clock set TIME, lazuli clock run$/],
  ['clock stop', /^expected lazuli clock,/],
  ['snapshots save', /^expected lazuli snapshots,/],
  ['seed', /^expected lazuli seed FOLDER$/],
  ['barriers hold {', /^the rule is not valid JSON; an example: '\{"at":"checked",/],
  ['barriers hold {"at":"x"}', /^at must be one of received, .*, not "x"$/],
  ['faults add {"effect":{"status":200}}', /^effect\.status must be a whole number from 400 to 599, not 200$/],
  ['reset --service smb', /^service must be one of blob, queue, table, file, not "smb"$/],
] // prettier-ignore

for (const [line, message] of FAILED) {
  test(`lazuli ${line}: ${message.source}`, async () => {
    const url = await serve(smallParts().parts)
    await assert.rejects(lazuli(line, { url }), { name: 'StartError', message })
  })
}

test('no server', async () => {
  const url = await serve({})
  await admins.pop()?.close()
  await assert.rejects(lazuli('clock', { url }), {
    message: `no server answers at ${url}: connection refused; start one, or name its admin port with --adminUrl`,
  })
})

test('a server that asks for a token', async () => {
  const url = await serve(smallParts().parts, 'secret-of-this-test')
  await assert.rejects(lazuli('clock', { url }), {
    message: `this needs the header Authorization: Bearer TOKEN; give the token of ${url} with --controlToken or LAZULI_CONTROL_TOKEN`,
  })
  await assert.rejects(
    lazuli('clock --controlToken another-token-of-ours', { url }),
    /^StartError: the token is not that/,
  )
  assert.equal((await lazuli('clock --controlToken secret-of-this-test', { url })).length, 1)
  const env = { LAZULI_CONTROL_TOKEN: 'secret-of-this-test' }
  assert.equal((await lazuli('clock', { url, env })).length, 1)
})

test('a part that the server does not have', async () => {
  await assert.rejects(lazuli('clock', { url: await serve({}) }), {
    message: 'there is no /api/clock; see /api/openapi.json',
  })
})
