// "Copy as a test": the journal of each wrong program is made a test, which starts a server of its own and has the same race.
import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openRaceWorld } from './race-client.ts'
import { CHECKS_THEN_ACTS } from './program/check-then-act.ts'
import { OUTLIVED_LEASES } from './program/lease-outlived.ts'
import { LOST_ENTITIES } from './program/lost-entity.ts'
import { LOST_UPDATES } from './program/lost-update.ts'
import { OTHER_RACES } from './program/other.ts'
import { cleanUp, run, tempFolder } from '../server-process.ts'

after(cleanUp)

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LIMIT_MS = 120_000

const PROGRAMS = [
  ...LOST_UPDATES,
  ...LOST_ENTITIES,
  ...CHECKS_THEN_ACTS,
  ...OUTLIVED_LEASES,
  ...OTHER_RACES,
]

type Made = { readonly name: string; readonly status: number; readonly text: string }

async function madeFrom({ kind, name, wrong }: (typeof PROGRAMS)[number]): Promise<Made> {
  const world = await openRaceWorld({ adminPort: 0 })
  try {
    await wrong(world)
    const [race] = world.server.races()
    const entry = String(race?.entries.at(-1)?.id)
    const query = new URLSearchParams({ kind, entry }).toString()
    const answer = await fetch(`${world.server.adminUrl}/api/races/test?${query}`)
    const { text = '', error } = (await answer.json()) as {
      readonly text?: string
      readonly error?: { readonly message: string }
    }
    return { name: `${kind}: ${name}`, status: answer.status, text: error?.message ?? text }
  } finally {
    await world.close()
  }
}

/** What the journal can't repeat: requests over SMB, copies, and what only another request knows. */
const IMPOSSIBLE = /^this race can't be made a test: /

const made: Made[] = []
for (const program of PROGRAMS) made.push(await madeFrom(program))
const possible = made.filter(({ status }) => status === 200)

/** A copy of the checkout as far as the programs can see. */
const FOLDER = tempFolder('race-tests')
for (const name of ['node_modules', 'src', 'tsconfig.json', 'package.json'])
  symlinkSync(join(ROOT, name), join(FOLDER, name))
mkdirSync(join(FOLDER, 'made'))
for (const [at, { text }] of possible.entries()) {
  const program = text.replace("'lazuli'", "'../src/server.ts'")
  writeFileSync(join(FOLDER, 'made', `${at + 1}.ts`), program)
}

test('most races can be made a test, and of the others the answer says why', () => {
  const others = made.filter(({ status }) => status !== 200)
  for (const { status, text } of others) {
    assert.equal(status, 409)
    assert.match(text, IMPOSSIBLE)
  }
  for (const kind of ['lost update', 'check then act', 'lease outlived', 'message handled twice', 'torn read'])
    assert(possible.some(({ name }) => name.startsWith(kind)), `no test of a ${kind}`)
  assert(others.length < made.length / 4, others.map(({ name, text }) => `${name}: ${text}`).join('\n'))
}) // prettier-ignore

test('each test has its race', { timeout: LIMIT_MS }, async () => {
  const all = possible.map((_, at) => `import './${at + 1}.ts'\n`).join('')
  writeFileSync(join(FOLDER, 'made', 'all.ts'), all)
  const args = ['--test-reporter=tap', join(FOLDER, 'made', 'all.ts')]
  const ended = await run({ program: [process.execPath], args, cwd: FOLDER })
  assert.equal(ended.code, 0, ended.stdout + ended.stderr)
  assert.match(ended.stdout, new RegExp(`^# pass ${possible.length}$`, 'm'))
})

test('the types of a generated test are right', { timeout: LIMIT_MS }, async () => {
  const settings = {
    extends: '../tsconfig.json',
    compilerOptions: { lib: ['es2023', 'esnext.disposable'], noUnusedLocals: false },
    include: ['*.ts'],
    exclude: [],
  }
  writeFileSync(join(FOLDER, 'made', 'tsconfig.json'), JSON.stringify(settings))
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
  const ended = await run({ program: [process.execPath, tsc], args: ['-p', 'made'], cwd: FOLDER })
  assert.deepEqual([ended.stdout, ended.code], ['', 0])
})
