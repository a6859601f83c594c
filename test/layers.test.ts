// The walls: which folder may import which, and the one file that may know a library. A rule without a
// checker is a wish.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'

/** Each folder, and the folders that it may import besides itself. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  kv: [],
  query: [],
  extent: ['kv'],
  storage: ['kv', 'extent'],
  auth: ['kv', 'extent', 'storage'],
  http: ['kv', 'extent', 'storage', 'auth'],
  rest: ['kv', 'extent', 'storage', 'auth', 'http', 'query'],
  smb: ['kv', 'extent', 'storage', 'auth'],
  start: ['kv', 'extent', 'storage', 'auth', 'http'],
  // server.ts and program.ts put it all together.
  '': ['kv', 'extent', 'storage', 'auth', 'http', 'rest', 'query', 'smb', 'start'],
}

/** A library, and the only files that may import it. */
const LIBRARIES: Readonly<Record<string, readonly string[]>> = {
  lmdb: ['src/kv/lmdb.ts'],
  saxes: ['src/http/xml.ts'],
  jose: ['src/auth/token.ts'],
  pino: ['src/start/log.ts'],
  'prom-client': ['src/start/metrics.ts'],
  '@peculiar/x509': ['src/start/certificate.ts'],
  '@uwdata/flechette': ['src/rest/blob/arrow.ts'],
}

type Import = { readonly file: string; readonly target: string }

const files = globSync('src/**/*.ts').filter((file) => !/\.test\.ts$|conformance\.ts$/.test(file))
const imports: readonly Import[] = files.flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(/(?:^|\s)(?:from |import\(|import )'([^'\n]+)'/g)].map(
    ([, target = '']) => ({ file, target }),
  ),
)

const layerOf = (file: string) => (file.split('/').length > 2 ? (file.split('/')[1] ?? '') : '')

test('there are files to look at', () => assert(files.length > 30 && imports.length > 100))

test('every folder is a layer', () => {
  assert.deepEqual(
    files.filter((file) => LAYERS[layerOf(file)] === undefined),
    [],
  )
})

test('imports go one way', () => {
  const wrong = imports.filter(({ file, target }) => {
    if (!target.startsWith('.')) return false
    const [from, to] = [layerOf(file), layerOf(normalize(join(dirname(file), target)))]
    return from !== to && LAYERS[from]?.includes(to) !== true
  })
  assert.deepEqual(wrong, [])
})

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

test('only start-up touches the process', () => {
  const wrong = files.filter((file) => {
    const code = readFileSync(file, 'utf8').replaceAll(/^\s*(\/\/|\/?\*).*$/gm, '')
    return layerOf(file) !== '' && /(?<![.\w])process\.|from 'node:process'/.test(code)
  })
  assert.deepEqual(wrong, [])
})
