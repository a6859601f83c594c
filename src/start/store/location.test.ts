import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { checkLocationExists, locationPath, prepareLocation } from './location.ts'

const folder = mkdtempSync(join(tmpdir(), 'lazuli-location-'))
after(() => rmSync(folder, { recursive: true }))

test('the default location is ./.lazuli', () => {
  assert.equal(locationPath(undefined, '/work'), '/work/.lazuli')
  assert.equal(locationPath('x', '/work'), '/work/x')
  assert.equal(locationPath('/data', '/work'), '/data')
})

test('a new folder is created with its parents, and git ignores it', async () => {
  const path = join(folder, 'a', 'b')
  await prepareLocation(path)
  await prepareLocation(path)
  assert.deepEqual(readdirSync(path), ['.gitignore'])
  assert.equal(readFileSync(join(path, '.gitignore'), 'utf8'), '*\n')
})

test('a folder with other files is not changed', async () => {
  const path = mkdtempSync(join(folder, 'project-'))
  writeFileSync(join(path, 'code.ts'), '')
  await prepareLocation(path)
  assert.deepEqual(readdirSync(path), ['code.ts'])
})

test('an unusable location is a one-line error', async () => {
  const file = join(folder, 'file')
  writeFileSync(file, '')
  const message = (path: string, reason: string): string =>
    `cannot write to the data folder ${path}: ${reason}; choose another with --location`
  await assert.rejects(prepareLocation(file), {
    name: 'StartError',
    message: message(file, 'a file with that name already exists'),
  })
  const below = join(file, 'x')
  await assert.rejects(prepareLocation(below), {
    message: message(below, 'a part of the path is not a folder'),
  })
  await assert.rejects(
    prepareLocation('/proc/lazuli'),
    /^StartError: cannot write to the data folder/,
  )
})

test('fsck does not create a folder', async () => {
  const path = join(folder, 'none')
  await assert.rejects(checkLocationExists(path), {
    message: `cannot read the data folder ${path}: no such file or folder; choose another with --location`,
  })
  await checkLocationExists(folder)
})
