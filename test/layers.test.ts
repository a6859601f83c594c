// The import rules: which folder may import which, no imports between services, no cycles, and one file per library.
// A rule without a check is only a wish.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'

/** The folders that each folder may import, besides itself. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  memory: [],
  postgres: [],
  kv: ['memory', 'postgres'],
  node: ['memory', 'kv'],
  peer: ['memory', 'node'],
  query: [],
  extent: ['memory', 'postgres', 'kv', 'node'],
  storage: ['memory', 'kv', 'node', 'extent'],
  auth: ['memory', 'kv', 'node', 'extent', 'storage'],
  control: ['memory', 'kv', 'node', 'extent', 'storage', 'auth'],
  http: ['memory', 'kv', 'node', 'extent', 'storage', 'auth', 'control'],
  rest: ['memory', 'kv', 'node', 'extent', 'storage', 'auth', 'control', 'http', 'query'],
  smb: ['memory', 'kv', 'node', 'extent', 'storage', 'auth', 'control'],
  // Its pages run in a browser, and use only types of control/.
  console: ['control', 'http'],
  start: [
    'memory',
    'postgres',
    'kv',
    'node',
    'extent',
    'storage',
    'auth',
    'control',
    'http',
    'console',
  ],
  torture: ['start', 'auth'],
  // run/ wires everything together; server.ts and program.ts are the entry points.
  run: [
    'memory',
    'postgres',
    'kv',
    'node',
    'extent',
    'storage',
    'auth',
    'control',
    'http',
    'rest',
    'query',
    'smb',
    'peer',
    'start',
  ],
  '': ['storage', 'auth', 'control', 'node', 'http', 'start', 'run', 'torture'],
}

/** The only files that may import each library. */
const LIBRARIES: Readonly<Record<string, readonly string[]>> = {
  lmdb: ['src/kv/engine/lmdb.ts'],
  pg: ['src/postgres/client.ts'],
  saxes: ['src/http/protocol/xml.ts'],
  yaml: ['src/run/seed/yaml.ts'],
  jose: ['src/auth/token/token.ts'],
  marked: ['src/console/docs/markdown.ts'],
  pino: ['src/start/log/log.ts'],
  'prom-client': ['src/start/admin/metrics.ts'],
  '@peculiar/x509': ['src/start/tls/certificate.ts'],
  '@uwdata/flechette': ['src/rest/blob/list/arrow.ts'],
  // In the text of a test that users copy.
  lazuli: ['src/control/race/replay/program.ts'],
  preact: ['src/console/page/library.ts'],
  'preact/hooks': ['src/console/page/library.ts'],
  '@preact/signals': ['src/console/page/library.ts'],
  htm: ['src/console/page/library.ts'],
  uplot: ['src/console/page/ui/plot.ts'],
}

type Import = { readonly file: string; readonly target: string }

const files = globSync('src/**/*.ts').filter((file) => !/\.test\.ts$|conformance\.ts$/.test(file))
const imports: readonly Import[] = files.flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(/(?:^|\s)(?:from |import\(|import )'([^'\n]+)'/g)].map(
    ([, target = '']) => ({ file, target }),
  ),
)

/** Imports between our own files, as paths from the root. */
const local = imports
  .filter(({ target }) => target.startsWith('.'))
  .map(({ file, target }) => ({ file, target: normalize(join(dirname(file), target)) }))

const layerOf = (file: string) => (file.split('/').length > 2 ? (file.split('/')[1] ?? '') : '')

test('there are files to check', () => assert(files.length > 30 && imports.length > 100))

test('every folder is a layer', () => {
  assert.deepEqual(
    files.filter((file) => LAYERS[layerOf(file)] === undefined),
    [],
  )
})

test('imports go downwards only', () => {
  const wrong = local.filter(({ file, target }) => {
    const [from, to] = [layerOf(file), layerOf(target)]
    return from !== to && LAYERS[from]?.includes(to) !== true
  })
  assert.deepEqual(wrong, [])
})

/** The service, or `shared`, to which a file of storage/ or rest/ belongs. */
function serviceOf(file: string): string | undefined {
  return /^src\/(?:storage|rest)\/(blob|datalake|queue|table|file|shared)\//.exec(file)?.[1]
}

/** Data Lake Storage is a second endpoint for blobs, with rules of its own over theirs. Blobs know nothing of it. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = { datalake: ['blob'] }

test('services do not import each other, and shared code imports none of them', () => {
  const wrong = local.filter(({ file, target }) => {
    const [from, to] = [serviceOf(file), serviceOf(target)]
    if (from === undefined || to === undefined || to === from || to === 'shared') return false
    return MAY_IMPORT[from]?.includes(to) !== true
  })
  assert.deepEqual(wrong, [])
})

test('only the wiring imports Data Lake Storage', () => {
  const wrong = local.filter(({ file, target }) => {
    return (
      serviceOf(target) === 'datalake' && serviceOf(file) !== 'datalake' && layerOf(file) !== 'run'
    )
  })
  assert.deepEqual(wrong, [])
})

test('http/protocol and http/client do not import http/door', () => {
  const wrong = local.filter(({ file, target }) => {
    return /^src\/http\/(protocol|client)\//.test(file) && target.startsWith('src/http/door/')
  })
  assert.deepEqual(wrong, [])
})

test('imports have no cycles, types included', () => {
  const targets = new Map<string, string[]>(files.map((file) => [file, []]))
  for (const { file, target } of local) targets.get(file)?.push(target)
  assert.deepEqual(cycleIn(targets), [])
})

test('the check for cycles finds a cycle', () => {
  const targets = { a: ['b'], b: ['c', 'd'], c: [], d: ['e'], e: ['b'] }
  assert.deepEqual(cycleIn(new Map(Object.entries(targets))), ['b', 'd', 'e', 'b'])
})

/** The first cycle found, from a file to itself; empty if there is none. */
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

test('each library is imported by one file only', () => {
  const wrong = imports.filter(({ file, target }) => {
    return !target.startsWith('.') && !isBuiltin(target) && !LIBRARIES[target]?.includes(file)
  })
  assert.deepEqual(wrong, [])
})

test('rules use no clock, no randomness and no disk', () => {
  const banned =
    /\bDate\.now\(|new Date\(\)|Math\.random|randomUUID|performance\.now|from 'node:(fs|net|http)/
  const rules = files.filter((file) => layerOf(file) === 'storage')
  assert.deepEqual(
    rules.filter((file) => banned.test(readFileSync(file, 'utf8'))),
    [],
  )
})

test('no generator function is created per request', () => {
  // V8 creates a hidden class for each in the old generation, which keeps the whole request alive until the next full
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

/** Transaction bodies that decode a request, encode a response, or need a key that storage never sees. */
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
  'src/rest/datalake/append-data.ts',
  'src/rest/file/handle.ts',
  'src/rest/file/read.ts',
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

test('modules for browsers import only each other, and types of control/', () => {
  const wrong = files
    .filter((file) => /^src\/console\/(page|browse)\//.test(file))
    .flatMap((file) => {
      const code = readFileSync(file, 'utf8')
      const all = [...code.matchAll(/(?:^|\n)import (type )?[^']*'([^']+)'/g)]
      return all
        .filter(([, type, target = '']) => {
          if (!target.startsWith('.')) return LIBRARIES[target] === undefined
          const path = normalize(join(dirname(file), target))
          if (/^src\/console\/(page|browse)\//.test(path)) return false
          return type === undefined || layerOf(path) !== 'control'
        })
        .map(([, , target]) => ({ file, target }))
    })
  assert.deepEqual(wrong, [])
})

// `nextTick` is about order, not about the process.
test('only start-up code uses `process`', () => {
  const wrong = files.filter((file) => {
    const code = readFileSync(file, 'utf8').replaceAll(/^\s*(\/\/|\/?\*).*$/gm, '')
    return (
      !['', 'run'].includes(layerOf(file)) &&
      file !== 'src/console/without-types.ts' &&
      /(?<![.\w])process\.(?!nextTick\()|from 'node:process'/.test(code)
    )
  })
  assert.deepEqual(wrong, [])
})
