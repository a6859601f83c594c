// The walls: which folder may import which, services that know nothing of each other, no cycles, and the one
// file that may know a library. A rule without a checker is a wish.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'

/** Each folder, and the folders that it may import besides itself. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  memory: [],
  kv: ['memory'],
  node: ['memory', 'kv'],
  query: [],
  extent: ['memory', 'kv', 'node'],
  storage: ['memory', 'kv', 'node', 'extent'],
  auth: ['memory', 'kv', 'node', 'extent', 'storage'],
  http: ['memory', 'kv', 'node', 'extent', 'storage', 'auth'],
  rest: ['memory', 'kv', 'node', 'extent', 'storage', 'auth', 'http', 'query'],
  smb: ['memory', 'kv', 'node', 'extent', 'storage', 'auth'],
  start: ['memory', 'kv', 'node', 'extent', 'storage', 'auth', 'http'],
  // run/ wires it all together; server.ts and program.ts are the ways in.
  run: [
    'memory',
    'kv',
    'node',
    'extent',
    'storage',
    'auth',
    'http',
    'rest',
    'query',
    'smb',
    'start',
  ],
  '': ['storage', 'node', 'http', 'start', 'run'],
}

/** A library, and the only files that may import it. */
const LIBRARIES: Readonly<Record<string, readonly string[]>> = {
  lmdb: ['src/kv/engine/lmdb.ts'],
  saxes: ['src/http/protocol/xml.ts'],
  jose: ['src/auth/token/token.ts'],
  pino: ['src/start/log/log.ts'],
  'prom-client': ['src/start/admin/metrics.ts'],
  '@peculiar/x509': ['src/start/tls/certificate.ts'],
  '@uwdata/flechette': ['src/rest/blob/list/arrow.ts'],
}

type Import = { readonly file: string; readonly target: string }

const files = globSync('src/**/*.ts').filter((file) => !/\.test\.ts$|conformance\.ts$/.test(file))
const imports: readonly Import[] = files.flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(/(?:^|\s)(?:from |import\(|import )'([^'\n]+)'/g)].map(
    ([, target = '']) => ({ file, target }),
  ),
)

/** Imports of our own files, by path from the root. */
const local = imports
  .filter(({ target }) => target.startsWith('.'))
  .map(({ file, target }) => ({ file, target: normalize(join(dirname(file), target)) }))

const layerOf = (file: string) => (file.split('/').length > 2 ? (file.split('/')[1] ?? '') : '')

test('there are files to look at', () => assert(files.length > 30 && imports.length > 100))

test('every folder is a layer', () => {
  assert.deepEqual(
    files.filter((file) => LAYERS[layerOf(file)] === undefined),
    [],
  )
})

test('imports go one way', () => {
  const wrong = local.filter(({ file, target }) => {
    const [from, to] = [layerOf(file), layerOf(target)]
    return from !== to && LAYERS[from]?.includes(to) !== true
  })
  assert.deepEqual(wrong, [])
})

/** Of storage/ and rest/: the service, or `shared`, that a file belongs to. */
function serviceOf(file: string): string | undefined {
  return /^src\/(?:storage|rest)\/(blob|queue|table|file|shared)\//.exec(file)?.[1]
}

test('no service knows another, and what they share knows none', () => {
  const wrong = local.filter(({ file, target }) => {
    const [from, to] = [serviceOf(file), serviceOf(target)]
    return from !== undefined && to !== undefined && to !== 'shared' && to !== from
  })
  assert.deepEqual(wrong, [])
})

test('sockets, heads and bodies know no operation', () => {
  const wrong = local.filter(({ file, target }) => {
    return /^src\/http\/(protocol|client)\//.test(file) && target.startsWith('src/http/door/')
  })
  assert.deepEqual(wrong, [])
})

test('no file imports itself by way of others, types included', () => {
  const targets = new Map<string, string[]>(files.map((file) => [file, []]))
  for (const { file, target } of local) targets.get(file)?.push(target)
  assert.deepEqual(cycleIn(targets), [])
})

test('a cycle is found and told', () => {
  const targets = { a: ['b'], b: ['c', 'd'], c: [], d: ['e'], e: ['b'] }
  assert.deepEqual(cycleIn(new Map(Object.entries(targets))), ['b', 'd', 'e', 'b'])
})

/** The first cycle, from a file to itself; empty if there is none. */
function cycleIn(targets: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const done = new Set<string>()
  const path: string[] = []
  const visit = (file: string): readonly string[] => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file]
    if (done.has(file)) return []
    path.push(file)
    for (const target of targets.get(file) ?? []) {
      const cycle = visit(target)
      if (cycle.length > 0) return cycle
    }
    path.pop()
    done.add(file)
    return []
  }
  for (const file of targets.keys()) {
    const cycle = visit(file)
    if (cycle.length > 0) return cycle
  }
  return []
}

test('a library is known to one file', () => {
  const wrong = imports.filter(({ file, target }) => {
    return !target.startsWith('.') && !isBuiltin(target) && !LIBRARIES[target]?.includes(file)
  })
  assert.deepEqual(wrong, [])
})

test('rules have no clock, no chance and no disk', () => {
  const banned =
    /\bDate\.now\(|new Date\(\)|Math\.random|randomUUID|performance\.now|from 'node:(fs|net|http)/
  const rules = files.filter((file) => layerOf(file) === 'storage')
  assert.deepEqual(
    rules.filter((file) => banned.test(readFileSync(file, 'utf8'))),
    [],
  )
})

test('no request makes a generator function of its own', () => {
  // V8 gives each a hidden class in its old generation, which holds the whole request until the next full
  // collection (docs/decisions/0008-speed.md).
  const served = files.filter((file) => ['http', 'rest', 'smb'].includes(layerOf(file)))
  assert.deepEqual(
    served.filter((file) =>
      /[(=:,] *(async )?function\* *\w*\(|return (async )?function\*/.test(
        readFileSync(file, 'utf8'),
      ),
    ),
    [],
  )
})

/** Bodies that decode a request or encode an answer, or need a key that storage never sees. */
const BODIES_OUTSIDE: readonly string[] = [
  'src/rest/blob/cipher.ts',
  'src/rest/blob/content/append.ts',
  'src/rest/blob/content/block.ts',
  'src/rest/blob/content/page.ts',
  'src/rest/blob/copy/copy-job.ts',
  'src/rest/blob/copy/local-source.ts',
  'src/rest/blob/copy/reseal.ts',
  'src/rest/blob/read.ts',
  'src/rest/blob/website.ts',
  'src/rest/file/handle.ts',
  'src/rest/file/read.ts',
  'src/smb/command/lock.ts',
  'src/smb/handle/directory-scan.ts',
  'src/smb/handle/volume.ts',
]

test('transaction bodies are in storage', () => {
  const served = files.filter((file) => ['auth', 'http', 'rest', 'smb'].includes(layerOf(file)))
  const found = served.filter((file) =>
    /function\*\s*\w*\(\s*tx\b/.test(readFileSync(file, 'utf8')),
  )
  assert.deepEqual(found.sort(), [...BODIES_OUTSIDE].sort())
})

test('only start-up touches the process', () => {
  const wrong = files.filter((file) => {
    const code = readFileSync(file, 'utf8').replaceAll(/^\s*(\/\/|\/?\*).*$/gm, '')
    return (
      !['', 'run'].includes(layerOf(file)) && /(?<![.\w])process\.|from 'node:process'/.test(code)
    )
  })
  assert.deepEqual(wrong, [])
})
