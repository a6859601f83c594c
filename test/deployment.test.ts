// The files in examples/ with which people deploy: what they name exists, and a server accepts every setting in them.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parseAllDocuments } from 'yaml'
import { decodeCommand } from '../src/start/options/command.ts'
import { envName, SETTING_NAMES } from '../src/start/options/options.ts'
import { missingReason } from './clients/program.ts'
import { linesOf } from './image/builder.ts'
import { cleanUp, run, tempFolder } from './server-process.ts'

const EXAMPLES = fileURLToPath(new URL('../examples/', import.meta.url))

after(cleanUp)

type Yaml = { readonly [name: string]: Yaml } & readonly Yaml[] & string

function read(name: string): readonly Yaml[] {
  return parseAllDocuments(readFileSync(join(EXAMPLES, name), 'utf8'), { merge: true }).map((each) => {
    assert.deepEqual([each.errors, each.warnings], [[], []], name)
    return each.toJS() as Yaml
  }) // prettier-ignore
}

const one = (name: string): Yaml => {
  const [only, ...others] = read(name)
  assert(only !== undefined && others.length === 0)
  return only
}

function must<T>(value: T | undefined): T {
  assert(value !== undefined)
  return value
}

/** What is not in the table of settings: accounts, and what PostgreSQL's clients read. */
const OTHER_NAMES = ['LAZULI_ACCOUNTS', 'PGPASSWORD']

/** The server would start with this command and environment, in the image. */
function checkStarts(command: readonly string[], env: Readonly<Record<string, string>>): void {
  const known = new Set([...SETTING_NAMES.map(envName), ...OTHER_NAMES])
  assert.deepEqual(Object.keys(env).filter((name) => !known.has(name)), []) // prettier-ignore
  const image = Object.fromEntries(linesOf('common', 'ENV').flatMap((line) => line.split(' ').map((pair) => pair.split('=')))) // prettier-ignore
  const argv = ['node', ...(command.length === 0 ? ['azurite'] : command)]
  const decoded = decodeCommand({ argv, env: { ...image, ...env }, cwd: '/nowhere', version: '0' })
  assert.equal(decoded.kind, 'start')
}

/** Ports such as 127.0.0.1:10000:10000 or 10000:10000 are those of the image. */
function checkPorts(ports: readonly string[]): void {
  const exposed = linesOf('common', 'EXPOSE').flatMap((line) => line.split(' '))
  for (const port of ports) assert(exposed.includes(port.split(':').at(-1) ?? ''), port)
}

describe('examples of Compose', () => {
  for (const [name, ours] of [
    ['compose-single.yaml', ['storage']],
    ['compose.yaml', ['node1', 'node2', 'node3']],
  ] as const) {
    test(name, () => {
      const { services, volumes } = one(name) as Record<string, Yaml>
      assert(services !== undefined && volumes !== undefined)
      for (const [
        service,
        { depends_on: needs, volumes: mounts = [], ports = [] },
      ] of Object.entries(services)) {
        // prettier-ignore
        const names = needs === undefined || Array.isArray(needs) ? (needs ?? []) : Object.keys(needs) // prettier-ignore
        for (const each of names) assert(each in services, `${service} needs ${each}`)
        for (const mount of mounts as readonly string[]) assert((mount.split(':')[0] ?? '') in volumes, mount) // prettier-ignore
        checkPorts(ports as readonly string[])
      }
      for (const service of ours) {
        const { build, command = [], environment } = services[service] as Record<string, Yaml>
        assert.equal(build, '..')
        checkStarts(command as readonly string[], environment as unknown as Record<string, string>)
      }
    })
  }
})

test('the example of GitHub Actions', () => {
  const { jobs } = one('github-actions.yaml') as Record<string, Yaml>
  const { env, ports, options } = must(jobs?.test?.services?.storage) as unknown as {
    env: Record<string, string>
    ports: readonly string[]
    options: string
  }
  checkStarts([], env)
  checkPorts(ports)
  assert.match(options, /^(--health-interval \d+s)$/)
})

describe('examples of Kubernetes', () => {
  for (const name of ['single.yaml', 'nodes.yaml']) {
    test(name, () => {
      const objects = read(`kubernetes/${name}`)
      const named = (kind: string) => {
        const found = objects.find((each) => each.kind === kind)
        assert(found !== undefined, kind)
        return found
      }
      const workload = objects.find(({ kind }) => /^(StatefulSet|Deployment)$/.test(kind ?? ''))
      const { selector, template, volumeClaimTemplates = [] } = must(workload?.spec) as Record<string, Yaml> // prettier-ignore
      const labels = JSON.stringify(template?.metadata?.labels)
      assert.equal(JSON.stringify(selector?.matchLabels), labels)
      assert.equal(JSON.stringify(named('Service').spec?.selector), labels)
      const [container] = template?.spec?.containers ?? []
      const { env, args, ports, volumeMounts = [] } = container as Record<string, Yaml>
      const portNames = (ports as readonly Yaml[]).map((port) => port.name)
      for (const { targetPort } of named('Service').spec?.ports ?? []) assert(portNames.includes(targetPort)) // prettier-ignore
      for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe'])
        assert(portNames.includes(container?.[probe]?.httpGet?.port), probe)
      const volumes = (volumeClaimTemplates as readonly Yaml[]).map((each) => each.metadata?.name)
      for (const mount of volumeMounts as readonly Yaml[]) assert(volumes.includes(mount.name))
      assert.equal(container?.securityContext?.readOnlyRootFilesystem, true)
      assert.equal(template?.spec?.securityContext?.runAsUser, Number(linesOf('nonroot', 'USER')[0]?.split(':')[0])) // prettier-ignore
      const secrets = named('Secret').stringData as Record<string, string>
      checkStarts(args as readonly string[], valuesOf(env as readonly Yaml[], secrets))
    })
  }
})

/** As Kubernetes would set them. */
function valuesOf(
  env: readonly Yaml[],
  secrets: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(env.map(({ name = '', value, valueFrom }) => {
    const key = valueFrom?.secretKeyRef?.key
    if (key !== undefined) assert(key in secrets, key)
    return [name, value ?? (key === undefined ? '10.1.2.3' : (secrets[key] ?? ''))]
  })) // prettier-ignore
}

describe('the unit of systemd', () => {
  const unit = readFileSync(join(EXAMPLES, 'systemd/lazuli.service'), 'utf8')
  const [, program = '', args = ''] = /^ExecStart=(\S+) (.*)$/m.exec(unit) ?? []

  test('starts a server', () => checkStarts([program, ...args.split(' ')], {}))

  const skip = missingReason('systemd-analyze', ['systemd-analyze', '--version']) ?? false
  test('is one that systemd accepts, and exposes little', { skip }, async () => {
    const path = join(tempFolder('unit'), 'lazuli.service')
    writeFileSync(path, unit.replaceAll(program, process.execPath))
    const verified = await run({ program: ['systemd-analyze'], args: ['verify', path] })
    assert.deepEqual([verified.stderr, verified.code], ['', 0])
    const limits = ['--offline=true', '--threshold=15']
    const rated = await run({ program: ['systemd-analyze', 'security'], args: [...limits, path] })
    assert.equal(rated.code, 0, rated.stdout)
  })
})
