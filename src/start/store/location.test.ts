import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { checkLocationExists, locationPath, prepareLocation } from './location.ts'

const folder = mkdtempSync(join(tmpdir(), 'lazuli-location-'))
after(() => rmSync(folder, { recursive: true }))

test('./.lazuli unless a location is given', () => {
  assert.equal(locationPath(undefined, '/work'), '/work/.lazuli')
  assert.equal(locationPath('x', '/work'), '/work/x')
  assert.equal(locationPath('/data', '/work'), '/data')
})

test('a new folder is made, with parents, and git ignores it', async () => {
  const path = join(folder, 'a', 'b')
  await prepareLocation(path)
  await prepareLocation(path)
  assert.deepEqual(readdirSync(path), ['.gitignore'])
  assert.equal(readFileSync(join(path, '.gitignore'), 'utf8'), '*\n')
})

test("a folder with somebody's files is left as it is", async () => {
  const path = mkdtempSync(join(folder, 'project-'))
  writeFileSync(join(path, 'code.ts'), '')
  await prepareLocation(path)
  assert.deepEqual(readdirSync(path), ['code.ts'])
})

test('what cannot be a location is told in one line', async () => {
  const file = join(folder, 'file')
  writeFileSync(file, '')
  const message = (path: string, reason: string): string =>
    `cannot write to the location ${path}: ${reason}; choose another with --location`
  await assert.rejects(prepareLocation(file), {
    name: 'StartError',
    message: message(file, 'a file of that name is in the way'),
  })
  const below = join(file, 'x')
  await assert.rejects(prepareLocation(below), {
    message: message(below, 'a part of the path is not a folder'),
  })
  await assert.rejects(prepareLocation('/proc/lazuli'), /^StartError: cannot write to the location/)
})

test('fsck makes no folder', async () => {
  const path = join(folder, 'none')
  await assert.rejects(checkLocationExists(path), {
    message: `cannot read the location ${path}: no such file or folder`,
  })
  await checkLocationExists(folder)
})
