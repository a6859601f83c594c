// Builds the image of the Dockerfile with buildah, without a registry: a small file system with this machine's libraries and
// busybox stands in for Alpine with Node, and this machine's Node is mounted into it when a container runs.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { missingReason } from '../clients/program.ts'
import { run, tempFolder } from '../server-process.ts'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const DOCKERFILE = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
const STAND_IN = 'localhost/node-stand-in'

let storage: string | undefined

function storageOptions(): readonly string[] {
  storage ??= tempFolder('image-storage')
  return [
    '--root',
    join(storage, 'root'),
    '--runroot',
    join(storage, 'run'),
    '--storage-driver',
    'overlay',
  ]
}

export type Image = {
  /** The file system of a container. */
  readonly root: string
  readonly config: ImageConfig
}

export type ImageConfig = {
  readonly User: string
  readonly Env: readonly string[]
  readonly Cmd: readonly string[]
  readonly Entrypoint: readonly string[]
  readonly WorkingDir: string
  readonly Healthcheck: { readonly Test: readonly string[] }
  readonly Volumes: Readonly<Record<string, unknown>>
  readonly ExposedPorts: Readonly<Record<string, unknown>>
}

/** Why no image can be built and run here; undefined if it can. */
export function missingBuilder(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    return 'building and running an image without a daemon needs Linux and root'
  const loopback = [
    'unshare',
    '--net',
    '--mount',
    '--pid',
    '--fork',
    'ip',
    'link',
    'set',
    'lo',
    'up',
  ] as const
  const rootfs = [
    'sh',
    '-c',
    `${['buildah', ...storageOptions(), 'from', 'scratch'].join(' ')} && ${['buildah', ...storageOptions(), 'rm', '--all'].join(' ')}`,
  ] as const
  return (
    missingReason('busybox', ['busybox', 'true']) ??
    missingReason('buildah with overlay', rootfs) ??
    missingReason('unshare with a network of its own', loopback)
  )
}

/** The lines of a stage of the Dockerfile that begin with `word`, without it. */
export function linesOf(stage: string, word: string): readonly string[] {
  const text = DOCKERFILE.replaceAll(/\\\n\s*/g, '')
  const [, lines = ''] = new RegExp(`^FROM \\S+ AS ${stage}\\n([^]*?)(?=^FROM |(?![^]))`, 'm').exec(text) ?? [] // prettier-ignore
  return lines.split('\n').flatMap((line) => (line.startsWith(`${word} `) ? [line.slice(word.length + 1)] : [])) // prettier-ignore
}

/** The files that .dockerignore lets through. */
function copyContext(target: string): void {
  const patterns = readFileSync(join(ROOT, '.dockerignore'), 'utf8').matchAll(/^!(\S+)$/gm)
  for (const name of globSync(
    [...patterns].map(([, pattern = '']) => pattern),
    { cwd: ROOT },
  )) {
    const filter = (path: string) => !path.endsWith('.test.ts')
    cpSync(join(ROOT, name), join(target, name), { recursive: true, filter })
  }
}

/** Runs the lines of a stage that do not need a network, with the dependencies of this checkout. */
async function runStage(stage: string, folder: string, lines: readonly string[]): Promise<void> {
  const env = { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, CI: 'true' }
  for (const line of lines) {
    const ended = await run({ program: ['sh', '-c', line], args: [], cwd: folder, env })
    assert.equal(ended.code, 0, `${stage}: ${line}\n${ended.stderr}`)
  }
}

/** What `npm ci` of the first two stages installs is copied or linked from this checkout; the rest is run as it is written. */
async function prepareStages(): Promise<Readonly<Record<'dependencies' | 'compiled', string>>> {
  const [dependencies, compiled] = [tempFolder('image-dependencies'), tempFolder('image-compiled')]
  const [modules, build] = [join(dependencies, 'opt/lazuli'), join(compiled, 'build')]
  mkdirSync(modules, { recursive: true })
  mkdirSync(build)
  for (const name of productionPackages()) cpSync(join(ROOT, name), join(modules, name), { recursive: true }) // prettier-ignore
  copyContext(build)
  symlinkSync(join(ROOT, 'node_modules'), join(build, 'node_modules'))
  const offline = (stage: string) => linesOf(stage, 'RUN').filter((line) => !line.startsWith('npm ci')) // prettier-ignore
  await runStage('dependencies', modules, offline('dependencies'))
  await runStage('compiled', build, offline('compiled'))
  return { dependencies, compiled }
}

function productionPackages(): readonly string[] {
  const args = ['ls', '--omit=dev', '--all', '--parseable', '--no-workspaces']
  const listed = execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }) // prettier-ignore
  const names = listed.split('\n').map((path) => path.slice(ROOT.length))
  return names.filter((name) => /^node_modules\/(?!node-(?:linux|win)-|lazuli-node)/.test(name))
}

/** Its containers are mounted until they are removed. */
async function buildah(...args: readonly string[]): Promise<string> {
  const ended = await run({ program: ['buildah', ...storageOptions()], args, cwd: ROOT })
  assert.equal(ended.code, 0, ended.stderr + ended.stdout)
  return ended.stdout.trim()
}

export async function removeImages(): Promise<void> {
  if (storage === undefined) return
  await buildah('rm', '--all')
}

export async function buildImages<T extends string>(
  targets: readonly T[],
): Promise<Readonly<Record<T, Image>>> {
  const base = standIn()
  await buildah('bud', '--quiet', '--file', join(base, 'Dockerfile'), '--tag', STAND_IN, base)
  const stages = Object.entries(await prepareStages()).flatMap(([name, folder]) => ['--build-context', `${name}=${folder}`]) // prettier-ignore
  const images: [string, Image][] = []
  for (const target of targets) {
    const how = ['--quiet', '--format', 'docker', '--isolation', 'chroot', '--target', target]
    await buildah('bud', ...how, '--build-arg', `NODE_IMAGE=${STAND_IN}`, ...stages, '--tag', target, ROOT) // prettier-ignore
    const container = await buildah('from', '--pull-never', `localhost/${target}`)
    const found: unknown = JSON.parse(await buildah('inspect', '--type', 'image', target))
    images.push([target, { root: await buildah('mount', container), config: configOf(found) }])
  }
  return Object.fromEntries(images) as Record<T, Image>
}

function configOf(inspected: unknown): ImageConfig {
  return (inspected as { Docker: { config: ImageConfig } }).Docker.config
}

/** A context for buildah: busybox with its commands, the libraries of Node and of lmdb, and a place for Node. */
function standIn(): string {
  const folder = tempFolder('image-base')
  const root = join(folder, 'root')
  for (const name of ['bin', 'usr/bin', 'usr/local/bin', 'etc', 'root', 'proc', 'dev', 'tmp'])
    mkdirSync(join(root, name), { recursive: true })
  const busybox = execFileSync('sh', ['-c', 'command -v busybox'], { encoding: 'utf8' }).trim()
  copyFileSync(busybox, join(root, 'bin/busybox'))
  const applets = execFileSync(busybox, ['--list'], { encoding: 'utf8' }).trim().split('\n')
  for (const name of applets) if (name !== 'busybox') symlinkSync('busybox', join(root, 'bin', name)) // prettier-ignore
  symlinkSync('../../bin/busybox', join(root, 'usr/bin/env'))
  const addon = join(ROOT, `node_modules/@lmdb/lmdb-linux-${process.arch}/node.napi.glibc.node`)
  for (const file of [process.execPath, addon, busybox]) copyLibraries(file, root)
  writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/:/bin/sh\n') // prettier-ignore
  // Docker writes it for each container.
  writeFileSync(join(root, 'etc/hosts'), '127.0.0.1 localhost\n')
  writeFileSync(join(root, 'usr/local/bin/node'), '')
  writeFileSync(join(folder, 'Dockerfile'), 'FROM scratch\nCOPY root /\n')
  return folder
}

function copyLibraries(file: string, root: string): void {
  const listed = execFileSync('sh', ['-c', 'ldd "$0" || true', file], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }) // prettier-ignore
  for (const [library] of listed.matchAll(/\/\S+\.so\S*/g)) {
    if (existsSync(join(root, library))) continue
    mkdirSync(dirname(join(root, library)), { recursive: true })
    copyFileSync(library, join(root, library))
  }
}
