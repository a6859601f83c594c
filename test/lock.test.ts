// Every installed package is pinned by its hash: npm checks downloads against the lock file, but not what an install
// script downloads.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

type Locked = {
  readonly version?: string
  readonly integrity?: string
  readonly link?: boolean
  readonly hasInstallScript?: boolean
}

const lock = readJson('../package-lock.json') as {
  readonly packages: Readonly<Record<string, Locked>>
}
const { allowScripts } = readJson('../package.json') as {
  readonly allowScripts: Readonly<Record<string, boolean>>
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))
}

const installed = Object.entries(lock.packages).filter(
  ([path, { link }]) => path.startsWith('node_modules/') && link !== true,
)

test('every package has its hash in the lock file', () => {
  assert(installed.length > 50)
  const unpinned = installed.filter(
    ([, { integrity }]) => integrity?.startsWith('sha512-') !== true,
  )
  assert.deepEqual(unpinned, [])
})

test('the Node of a checkout is among them and needs no install script', () => {
  const { optionalDependencies } = readJson('../scripts/node/package.json') as {
    readonly optionalDependencies: Readonly<Record<string, string>>
  }
  const locked = Object.entries(optionalDependencies).map(([name, version]) => {
    const found = lock.packages[`node_modules/${name}`]
    return found?.version === version && found.hasInstallScript !== true
  })
  assert.deepEqual(locked, [true, true, true])
  assert.equal(lock.packages['node_modules/node'], undefined)
})

test('install scripts are allowed only for packages that are built from their own files', () => {
  assert.deepEqual(Object.keys(allowScripts), ['lmdb', 'msgpackr-extract'])
})
