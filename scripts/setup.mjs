// Brings a fresh clone to where `npm start` and `npm test` can run: the dependencies (with Node 24 among
// them, so an installed Node 20 is enough to begin) and, with --test, the system packages that tests drive.
// Plain JavaScript, because the Node that runs it may be too old to run TypeScript.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const stamp = join(root, 'node_modules', '.lazuli-setup')

/** Test-only programs of the system: [command, Debian package, what is skipped without it]. */
const SYSTEM_PACKAGES = [
  ['strace', 'strace', 'durability as the kernel sees it'],
  ['wrk', 'wrk', 'the benchmark'],
]

installDependencies()
if (process.argv.includes('--test')) installSystemPackages()

function installDependencies() {
  const wanted = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .update(process.platform + process.arch)
    .digest('hex')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return
  console.log('Installing dependencies (only once) …')
  run(process.platform === 'win32' ? 'npm.cmd' : 'npm', [
    'ci',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ])
  writeFileSync(stamp, wanted)
}

function installSystemPackages() {
  const missing = SYSTEM_PACKAGES.filter(([command]) => !isOnPath(command))
  if (missing.length === 0) return
  const packages = missing.map(([, name]) => name)
  if (process.getuid?.() === 0 && isOnPath('apt-get')) {
    console.log(`Installing for the tests: ${packages.join(' ')} …`)
    try {
      run('apt-get', ['update', '-qq'])
      run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages])
    } catch {
      console.log('apt-get could not install them.')
    }
  }
  for (const [command, name, what] of SYSTEM_PACKAGES) {
    if (!isOnPath(command)) console.log(`Without ${command} (package ${name}), skipped: ${what}.`)
  }
}

function isOnPath(command) {
  return (process.env.PATH ?? '')
    .split(process.platform === 'win32' ? ';' : ':')
    .some((folder) => existsSync(join(folder, command)))
}

function run(command, args) {
  execFileSync(command, args, {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  })
}
