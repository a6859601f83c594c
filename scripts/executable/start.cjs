// The first code of the single executable: unpacks the program into the user's cache, if it is not there yet, and runs it.
// Native addons and worker threads need files; and Node caches compiled code of files only.
'use strict'
const { mkdirSync, existsSync, lstatSync, renameSync, rmSync, writeFileSync } = require('node:fs')
const { createRequire, enableCompileCache } = require('node:module')
const { homedir, tmpdir, userInfo } = require('node:os')
const { dirname, join } = require('node:path')
const { getAsset, getAssetKeys, getRawAsset } = require('node:sea')

const id = getAsset('id', 'utf8')
const folder = unpacked()
enableCompileCache(join(folder, 'compiled'))
// The name by which it was called, such as azurite, tells what it is.
process.argv[1] = process.argv0
createRequire(join(folder, 'run.cjs'))('./run.cjs')

/** The folder with the files of this version: in the user's cache or, if nothing can be written there, for temporary files. */
function unpacked() {
  const failures = []
  for (const parent of parents()) {
    try {
      mkdirSync(parent, { recursive: true, mode: 0o700 })
      if (!isOwn(parent)) throw new Error('it belongs to another user, or others can write to it')
      const target = join(parent, id)
      if (!existsSync(target)) unpack(parent, target)
      return target
    } catch (error) {
      failures.push(`${parent}: ${error.message}`)
    }
  }
  process.stderr.write(`lazuli: found no folder for the program's files.\n${failures.join('\n')}\n`)
  process.exit(1)
}

function parents() {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')
  return [join(cache, 'lazuli'), join(tmpdir(), `lazuli-${userInfo().uid}`)]
}

/** Nobody else may place code there. */
function isOwn(path) {
  const { uid, mode } = lstatSync(path)
  return process.platform === 'win32' || (uid === process.getuid() && (mode & 0o022) === 0)
}

/** A folder appears complete or not at all, also if two processes start at once. */
function unpack(parent, target) {
  const draft = join(parent, `${id}.${process.pid}.part`)
  rmSync(draft, { recursive: true, force: true })
  for (const name of getAssetKeys()) {
    if (name === 'id') continue
    mkdirSync(dirname(join(draft, name)), { recursive: true })
    writeFileSync(join(draft, name), new Uint8Array(getRawAsset(name)))
  }
  try {
    renameSync(draft, target)
  } catch (error) {
    rmSync(draft, { recursive: true, force: true })
    if (!existsSync(target)) throw error
  }
}
