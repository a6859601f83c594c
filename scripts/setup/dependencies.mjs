// Installs what package-lock.json pins by hash, and Node 24 with it (scripts/node/package.json) if the installed Node is
// older. A user needs a small part of it; developers need all.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { root, npm } from './place.mjs'
import { showProgress } from './progress.mjs'

const NODE_MAJOR = 24
const stamp = join(root, 'node_modules', '.lazuli-setup')
const bundledNode = join(
  root,
  'node_modules/.bin',
  process.platform === 'win32' ? 'node.cmd' : 'node',
)
const lock = readFileSync(join(root, 'package-lock.json'))

/** @param {'user' | 'developer'} who */
export async function installDependencies(who) {
  if (isInstalled(who)) return
  const what = who === 'user' ? 'what Lazuli needs to run' : 'what Lazuli and its tests need, once'
  await npmCi(argsOf(who), showProgress(what, countPackages(who)))
  linkNode()
  writeFileSync(stamp, stampOf(who))
}

function isInstalled(who) {
  const found = existsSync(stamp) ? readFileSync(stamp, 'utf8') : ''
  if (needsNode() && !existsSync(bundledNode)) return false
  return found === stampOf(who) || found === stampOf('developer')
}

function stampOf(who) {
  const hash = createHash('sha256').update(lock)
  return `${hash.update(process.platform + process.arch).digest('hex')} ${who}`
}

function argsOf(who) {
  if (who === 'developer') return []
  return needsNode() ? ['--omit=dev'] : ['--omit=dev', '--no-workspaces']
}

/** npm scripts run with the bundled Node once it is there: that one is kept. */
function needsNode() {
  if (process.execPath.startsWith(join(root, 'node_modules'))) return true
  return Number(process.versions.node.split('.')[0]) < NODE_MAJOR
}

/** What npm will fetch for this machine. */
function countPackages(who) {
  const fits = (allowed, own) => allowed === undefined || [allowed].flat().includes(own)
  return Object.entries(JSON.parse(lock.toString()).packages).filter(
    ([path, { dev, link, os, cpu, libc }]) =>
      path.includes('node_modules/') &&
      link !== true &&
      (who === 'developer' || dev !== true) &&
      (who === 'developer' || needsNode() || !/\/node-(linux|win)-/.test(path)) &&
      fits(os, process.platform) &&
      fits(cpu, process.arch) &&
      fits(libc, 'glibc'),
  ).length
}

/** npm's own messages are shown only if it fails. */
function npmCi(args, progress) {
  return new Promise((resolve) => {
    const child = spawn(npm, ['ci', '--no-audit', '--no-fund', '--loglevel=http', ...args], {
      cwd: root,
      stdio: ['ignore', 'ignore', 'pipe'],
      shell: process.platform === 'win32',
    })
    const messages = []
    createInterface({ input: child.stderr }).on('line', (line) => {
      if (/^npm http .*\.tgz /.test(line)) progress.fetched()
      else if (!line.startsWith('npm http ')) messages.push(line)
    })
    child.once('error', (error) => messages.push(String(error)))
    child.once('close', (code) => {
      progress.end(code === 0)
      if (code === 0) return resolve()
      console.error(messages.join('\n'))
      process.exit(1)
    })
  })
}

/**
 * npm 10 does not link the command of a package that it takes from the lock file. npm scripts find this Node first; the
 * entry point runs itself again with it.
 */
function linkNode() {
  const target = `../node-${process.platform}-${process.arch}/bin/node`
  const isThere = existsSync(join(dirname(bundledNode), target))
  if (process.platform !== 'win32' && isThere && !existsSync(bundledNode)) {
    mkdirSync(dirname(bundledNode), { recursive: true })
    symlinkSync(target, bundledNode)
  }
  // npm skips optional packages for other machines.
  if (!needsNode() || existsSync(bundledNode) || process.features.typescript) return
  console.error(
    `Node ${process.version} is too old, and there is no bundled Node ${NODE_MAJOR} for ${process.platform} ${process.arch}. Install Node ${NODE_MAJOR}.`,
  )
  process.exit(1)
}
