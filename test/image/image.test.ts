// The image: built by its Dockerfile where buildah is, and run as Docker, Testcontainers, Aspire and Kubernetes run it.
import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  globSync,
  lstatSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { makeCa } from '../../src/start/tls/certificate.ts'
import { CONTAINER_LAUNCHERS, OTHER_ACCOUNT } from '../launchers.ts'
import { cleanUp, tempFolder } from '../server-process.ts'
import { buildImages, linesOf, missingBuilder, removeImages, ROOT, type Image } from './builder.ts'
import { startContainer, type Container, type ContainerStart } from './container.ts'

const CLIENT = fileURLToPath(new URL('client.ts', import.meta.url))
const NAMES = ['azurite', 'azurite-blob', 'azurite-queue', 'azurite-table', 'lazuli']
/** Every service that can be ready; the last line of a start. */
const READY = /SMB service is successfully listening/
const skip = missingBuilder() ?? false

after(async () => {
  await removeImages()
  await cleanUp()
})

test('its native dependencies are there for Alpine (musl), on x64 and arm64', () => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, unknown>
  }
  for (const arch of ['x64', 'arm64']) assert(`node_modules/@lmdb/lmdb-linux-${arch}` in packages)
  const builds = globSync('node_modules/@lmdb/lmdb-linux-*/*.node', { cwd: ROOT })
  assert(builds.some((path) => path.endsWith('/node.napi.musl.node')) || process.platform !== 'linux') // prettier-ignore
})

test('its build installs what package-lock.json pins', () => {
  for (const [stage, which] of [['dependencies', '--omit=dev '], ['compiled', '']] as const) {
    const [first] = linesOf(stage, 'RUN')
    assert.equal(first, `npm ci ${which}--no-workspaces --ignore-scripts --no-audit --no-fund`)
  }
}) // prettier-ignore

describe('the image', { skip, concurrency: 2 }, () => {
  let images: Readonly<Record<'lazuli' | 'nonroot', Image>>
  before(async () => {
    images = await buildImages(['lazuli', 'nonroot'])
  })

  const start = (rest: Partial<ContainerStart> = {}): Promise<Container> =>
    startContainer({ image: images.lazuli, data: tempFolder('image-data'), ...rest })

  /** The SDKs, at the ports that they expect. */
  const useClient = async (container: Container, ...args: readonly string[]): Promise<void> => {
    const ended = await container.nearby(process.execPath, CLIENT, ...args)
    assert.deepEqual([ended.stdout, ended.stderr, ended.code], ['ok\n', '', 0])
  }

  test('has the executables, no entry point, the ports and a volume for any user', () => {
    const { config, root } = images.lazuli
    for (const name of NAMES) assert(lstatSync(join(root, 'usr/local/bin', name)).isSymbolicLink())
    assert.deepEqual([config.Entrypoint, config.Cmd, config.User], [[], ['azurite'], ''])
    assert.deepEqual(Object.keys(config.Volumes), ['/data'])
    assert.deepEqual(Object.keys(config.ExposedPorts).sort(),
      ['10000/tcp', '10001/tcp', '10002/tcp', '10003/tcp', '10004/tcp', '10005/tcp', '10010/tcp', '10445/tcp']) // prettier-ignore
    assert.equal(statSync(join(root, 'data')).mode & 0o7777, 0o1777)
    assert.deepEqual(globSync('**/*.test.*', { cwd: join(root, 'opt/lazuli/dist') }), [])
  })

  test('without a command it serves, is healthy, stops on SIGTERM, and finds its data again', async () => {
    const data = tempFolder('image-data')
    const check = images.lazuli.config.Healthcheck.Test
    assert.equal(check[0], 'CMD')
    for (const args of [[], ['devstoreaccount1:' + WELL_KNOWN, 'read']]) {
      const container = await start({ data })
      await container.printed(READY)
      const docs = await container.exec('wget', '-qO-', 'http://127.0.0.1:10010/docs/')
      assert.match(docs.stdout, /href="\/docs\/clients"/)
      const healthy = await container.exec(...check.slice(1))
      assert.deepEqual([healthy.stdout, healthy.code], ['ready\n', 0])
      await useClient(container, ...args)
      const ended = await container.stop()
      assert.deepEqual([ended.code, ended.stderr], [0, ''])
    }
  })

  test('the commands with which Testcontainers waits for ports succeed in it', async () => {
    const container = await start()
    await container.printed(READY)
    for (const command of WAITS) {
      const { code, stderr } = await container.exec('sh', '-c', command)
      assert.equal(code, 0, `${command}: ${stderr}`)
    }
    await container.stop()
  })

  for (const { tool, command, env, lines, entrypoint } of CONTAINER_LAUNCHERS) {
    test(`${tool} starts it`, async () => {
      const given = { ...(env && { env }), ...(entrypoint && { entrypoint }) }
      const container = await start({ command, ...given })
      for (const line of lines) await container.printed(line)
      if (env?.AZURITE_ACCOUNTS !== undefined) await useClient(container, env.AZURITE_ACCOUNTS)
      assert.equal((await container.stop()).code, 0)
    })
  }

  test('settings by environment replace what it keeps in /data', async () => {
    const data = tempFolder('image-data')
    const env = { LAZULI_IN_MEMORY_PERSISTENCE: 'true', ...OTHER_ACCOUNT }
    const container = await start({ data, env })
    await container.printed(READY)
    await useClient(container, OTHER_ACCOUNT.AZURITE_ACCOUNTS)
    assert.equal((await container.exec('lazuli', 'health')).stdout, 'ready\n')
    await container.stop()
    assert.deepEqual(globSync('**', { cwd: data }), ['.'])
  })

  test('reads certificates that tools copy into it for root only', async () => {
    const { keyPem, certPem } = await makeCa(Date.now())
    const files = { 'azurite-cert.pem': certPem, 'azurite-key.pem': keyPem }
    const paths = Object.entries(files).map(([name, text]) => {
      const path = join(images.lazuli.root, name)
      writeFileSync(path, text, { mode: 0o600 })
      return path
    })
    const command = ['azurite', '--blobHost', '0.0.0.0', '--cert', '/azurite-cert.pem', '--key', '/azurite-key.pem'] // prettier-ignore
    const container = await start({ command })
    await container.printed(/Azurite Blob service is successfully listening at https:\/\/0\.0\.0\.0:10000/) // prettier-ignore
    await container.stop()
    for (const path of paths) rmSync(path)
  })

  for (const [who, rest] of [
    ['any user', { user: '12345:12345' }],
    ['nonroot, with a read-only file system', { isReadOnly: true }],
  ] as const) {
    test(`runs as ${who}`, async () => {
      const data = tempFolder('image-data')
      const image = who === 'any user' ? images.lazuli : images.nonroot
      const [uid = 0] = ('user' in rest ? rest.user : image.config.User).split(':').map(Number)
      assert(uid > 0)
      // For a group, as Kubernetes prepares a volume.
      chownSync(data, 0, uid)
      chmodSync(data, 0o2775)
      const container = await start({ image, data, ...rest })
      await container.printed(READY)
      await useClient(container)
      assert.equal((await container.exec('lazuli', 'health')).stdout, 'ready\n')
      const written = await container.exec('sh', '-c', 'echo x > /opt/lazuli/x')
      assert.notEqual(written.code, 0)
      assert.equal((await container.stop()).code, 0)
      assert.equal(statSync(join(data, 'store')).uid, uid)
    })
  }

  test('says which folder it cannot write to', async () => {
    const container = await start({ image: images.nonroot, isReadOnly: true })
    const ended = await container.ended
    assert.match(ended.stderr, /^lazuli: cannot write to the data folder \/data: [^\n]+\n$/)
    assert.equal(ended.code, 1)
  })
})

const WELL_KNOWN =
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='

/** What Testcontainers for Java and for Go run in the container to find a port in use. */
const WAITS = [10_000, 10_001, 10_002].flatMap((port) => {
  const hex = port.toString(16)
  return [
    `true && (grep -i ':0*${hex}' /proc/net/tcp* || nc -vz -w 1 localhost ${port} || /bin/bash -c '</dev/tcp/localhost/${port}')`,
    `true && ( cat /proc/net/tcp* | awk "{print $2}" | grep -i :${hex} || nc -vz -w 1 localhost ${port} || /bin/sh -c "</dev/tcp/localhost/${port}" )`,
  ]
})
