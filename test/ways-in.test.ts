// Ways to start a server: by an old Node, beside another one, with some of the services; and how commands find it.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { delimiter, join } from 'node:path'
import { after, describe, test } from 'node:test'
import { clientsOf } from './azurite/sample.ts'
import { CONTAINER_LAUNCHERS, LOCAL_LAUNCHERS } from './launchers.ts'
import {
  cleanUp,
  createContainer,
  launch,
  MAIN,
  run,
  startServerProcess,
  stop,
  tempFolder,
} from './server-process.ts'

after(cleanUp)

const KEY = Buffer.alloc(32, 3).toString('base64')

const OLD_NODE = (process.env.PATH ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'node'))
  .find((node) => existsSync(node) && versionOf(node) < 22)

function versionOf(node: string): number {
  return Number.parseInt(execFileSync(node, ['--version'], { encoding: 'utf8' }).slice(1))
}

describe('a checkout on a Node that cannot run TypeScript', () => {
  const skip = OLD_NODE === undefined && 'this machine has no Node 20'

  test('runs with the Node of its dependencies, and ends as it does', { skip }, async () => {
    const program = [OLD_NODE ?? '', MAIN] as const
    const server = await startServerProcess({ program, args: ['--inMemoryPersistence'] })
    assert.equal((await createContainer(server, 'old')).status, 201)
    const ended = await stop(server)
    assert.deepEqual([ended.code, ended.stderr], [0, ''])
    assert.match(ended.stdout, /Blob service successfully closed\n/)
    const refused = await run({ program, args: ['--blobPrt', '1'] })
    assert.equal(refused.code, 2)
  })

  test('says what to do if there is none', { skip }, async () => {
    const folder = tempFolder('bare')
    mkdirSync(join(folder, 'src'))
    for (const name of ['main.js', 'bundled-node.js']) {
      copyFileSync(join(MAIN, '..', name), join(folder, 'src', name))
    }
    writeFileSync(join(folder, 'src', 'program.ts'), '')
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    const program = [OLD_NODE ?? '', join(folder, 'src', 'main.js')] as const
    const ended = await run({ program, args: [] })
    assert.match(
      ended.stderr,
      /^lazuli: Node v20\S+ cannot run a checkout; run "npm start"[^\n]+\n$/,
    )
    assert.equal(ended.code, 1)
  })
})

describe('services and ports', { concurrency: 2 }, () => {
  test('--services starts only those, and connection strings name only those', async () => {
    const server = await startServerProcess({
      args: ['--services', 'blob,table', '--inMemoryPersistence'],
    })
    const output = server.stdout()
    assert.match(output, /Table service is successfully listening/)
    assert.doesNotMatch(output, /Queue|File|SMB|Website/)
    assert.match(output, /BlobEndpoint=\S+TableEndpoint=[^;]+;\n/)
    await stop(server)
  })

  test('a port that is given does not move', async () => {
    const taken = await takePort()
    const args = ['--inMemoryPersistence', '--blobPort', '0', '--filePort', String(taken.port)]
    const ended = await run({ program: [process.execPath, azurite()], args })
    assert.match(
      ended.stderr,
      /^lazuli: the file service cannot listen on .*; choose another with --filePort\n$/,
    )
    taken.close()
  })

  test('azurite starts beside another; the ports that only Lazuli has move, which is printed', async () => {
    // Below the ports that systems give out, so that only the two servers use them.
    const LAZULI_PORT_OFFSET = String(5_000 + (process.pid % 10_000))
    const env = {
      LAZULI_PORT_OFFSET, LAZULI_FILE_PORT: '', LAZULI_SMB_PORT: '', LAZULI_BLOB_PORT: '0',
    } // prettier-ignore
    const start = () =>
      launch({ program: [process.execPath, azurite()], args: ['--inMemoryPersistence'], env })
    const first = start()
    await first.printed(/SMB service is successfully listening/)
    const second = start()
    await second.printed(/SMB service is successfully listening/)
    for (const name of ['file', 'smb', 'web', 'admin']) {
      assert.match(
        second.stdout(),
        new RegExp(`Moved +--${name}Port is \\d+, because \\d+ is in use`),
      )
    }
    for (const each of [first, second]) await stop(each)
  })
})

/** As tools start it where there is no container: also with the command lines that they give to one, if the ports are free. */
describe('the command lines of tools', { concurrency: 2 }, () => {
  for (const { tool, entrypoint = [], command, env = {}, lines } of [
    ...LOCAL_LAUNCHERS,
    ...CONTAINER_LAUNCHERS,
  ]) {
    // prettier-ignore
    test(tool, async () => {
      const [folder, bin] = [tempFolder('tool'), tempFolder('bin')]
      const [name = '', ...args] = [...entrypoint, ...command]
      symlinkSync(MAIN, join(bin, name))
      const server = launch({
        program: [process.execPath, join(bin, name)],
        // Their folders and ports are the container's.
        args: args.map((word) => word.replace(/^(F|\/data)(?=\/|$)/, folder).replace(/^P$|^1000\d$/, '0')), // prettier-ignore
        cwd: folder,
        env: { ...env, LAZULI_BLOB_PORT: '0', LAZULI_PORT_OFFSET: '23000' },
      })
      for (const line of lines) await server.printed(line)
      const urls = PROBES.flatMap(([service, path]) => {
        const at = new RegExp(`^Azurite ${service} service .*listen.* (http\\S+)$`, 'm')
        const url = at.exec(server.stdout())?.[1]
        return url === undefined ? [] : [`${url}/devstoreaccount1/${path}`]
      })
      assert.equal(urls.length, lines.length)
      for (const url of urls) assert(await isStorage(url), url)
      assert.equal((await stop(server)).code, 0)
    })
  }

  test('--version ends at once', async () => {
    const ended = await run({ program: [process.execPath, azurite()], args: ['--version'] })
    assert.match(ended.stdout, /^\d+\.\d+\.\d+\n$/)
    assert.equal(ended.code, 0)
  })
})

/** What Azure Functions Core Tools asks each service, without a signature. */
const PROBES = [
  ['Blob', '?comp=list'],
  ['Queue', '?comp=list'],
  ['Table', 'Tables'],
] as const

/** Any status is fine, if it is Azure Storage that answers. */
async function isStorage(url: string): Promise<boolean> {
  const { headers } = await fetch(url, { headers: { 'x-ms-version': '2021-12-02' } })
  return headers.has('x-ms-request-id')
}

describe('what every account has from the start', () => {
  const env = {
    LAZULI_CORS: 'https://a.example',
    LAZULI_CONTAINERS: 'images,$web',
    LAZULI_QUEUES: 'orders',
    LAZULI_TABLES: 'People',
    LAZULI_SHARES: 'docs',
    LAZULI_ACCOUNTS: ['one', 'two'].map((name) => `${name}:${KEY}`).join(';'),
  }

  test('comes from the environment, is there when the server is ready, and stays', async () => {
    const location = tempFolder('prepared')
    const portOf = (output: string, service: string): number =>
      Number(new RegExp(`${service} service is successfully listening at \\S+:(\\d+)`).exec(output)?.[1]) // prettier-ignore
    for (const start of ['first', 'second']) {
      const server = await startServerProcess({ args: ['--location', location], env })
      await server.printed(/SMB service is successfully listening/)
      const ports = ['Blob', 'Queue', 'Table'].map((service) => portOf(server.stdout(), service))
      for (const name of ['one', 'two']) {
        const [blobPort = 0, queuePort = 0, tablePort = 0] = ports
        const { blobs, queues, tables } = clientsOf({ blobPort, queuePort, tablePort }, { name, key: KEY }) // prettier-ignore
        const names = []
        for await (const item of blobs.listContainers()) names.push(item.name)
        for await (const item of queues.listQueues()) names.push(item.name)
        for await (const item of tables.listTables()) names.push(item.name)
        assert.deepEqual(names, ['$web', 'images', 'orders', 'People'], start)
        const { cors = [] } = await blobs.getProperties()
        assert.deepEqual(cors.map(({ allowedOrigins }) => allowedOrigins), ['https://a.example']) // prettier-ignore
      }
      await stop(server)
    }
  })

  test('a name that Azure does not allow is refused', async () => {
    const ended = await run({ args: ['--containers', 'No Name'] })
    assert.match(ended.stderr, /^lazuli: --containers must be a comma-separated list of valid names, not No Name\n$/) // prettier-ignore
    assert.equal(ended.code, 2)
  })
})

describe('lazuli health', () => {
  test('asks the server of the given location, wherever its admin port is', async () => {
    const [one, two, copied] = ['one', 'two', 'copied'].map((name) => tempFolder(name))
    assert(one !== undefined && two !== undefined && copied !== undefined)
    const health = async (location: string) => {
      const { code, stdout } = await run({ args: ['health', '--location', location] })
      return `${code} ${stdout}`
    }
    const server = await startServerProcess({ args: ['--location', one] })
    assert.equal(await health(one), '0 ready\n')
    assert.match(await health(two), /^1 not ready: /)
    // A copy of the folder has no server.
    cpSync(join(one, 'server.json'), join(copied, 'server.json'))
    assert.match(await health(copied), /^1 not ready: /)
    const journal = await run({ args: ['leases', '--location', one] })
    assert.deepEqual([journal.code, journal.stderr], [0, ''])
    await stop(server, 'SIGKILL')
    assert.match(await health(one), /^1 not ready: .*connection refused\n$/)
    const next = await startServerProcess({ args: ['--location', one] })
    assert.equal(await health(one), '0 ready\n')
    await stop(next)
    assert(!existsSync(join(one, 'server.json')))
    assert.match(await health(one), /^1 not ready: /)
  })
})

function azurite(): string {
  const path = join(tempFolder('bin'), 'azurite')
  symlinkSync(MAIN, path)
  return path
}

async function takePort(): Promise<{ readonly port: number; close(): void }> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { port: (server.address() as AddressInfo).port, close: () => server.close() }
}
