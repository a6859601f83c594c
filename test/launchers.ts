// How tools start an Azurite, from their sources: the command line, and what they wait for in its output.

export type Launcher = {
  readonly tool: string
  /** They make this the entry point of the image; otherwise the first word of the command names the executable. */
  readonly entrypoint?: readonly string[]
  readonly command: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly lines: readonly RegExp[]
}

const words = (text: string): readonly string[] => (text === '' ? [] : text.split(' '))

const HOSTS = '--blobHost 0.0.0.0 --queueHost 0.0.0.0 --tableHost 0.0.0.0'
const HOSTS_AND_PORTS =
  '--blobHost 0.0.0.0 --blobPort 10000 --queueHost 0.0.0.0 --queuePort 10001 --tableHost 0.0.0.0 --tablePort 10002'
const QUIET = '--disableProductStyleUrl --skipApiVersionCheck --disableTelemetry --silent'

const LINES = ['Blob', 'Queue', 'Table'].map(
  (service) => new RegExp(`^Azurite ${service} service is successfully listening at http`, 'm'),
)
const BLOB_LINE = /^Azurite Blob service successfully listens on http/m
const QUEUE_LINE = /^Azurite Queue service successfully listens on http/m

/** Every name and key but the default is for one account. */
export const OTHER_ACCOUNT = { AZURITE_ACCOUNTS: `other:${Buffer.alloc(64, 7).toString('base64')}` }

const row = (
  tool: string,
  text: string,
  rest: Partial<Omit<Launcher, 'tool' | 'command'>> = {},
): Launcher => ({ tool, command: words(text), lines: LINES, ...rest })

const entrypoint = ['azurite']

/** In containers. `/data` and `/logs` are folders of the image or of the machine. */
export const CONTAINER_LAUNCHERS: readonly Launcher[] = [
  row('Aspire', `azurite -l /data ${HOSTS} --disableProductStyleUrl --skipApiVersionCheck`),
  row('Testcontainers for .NET', HOSTS, { entrypoint }),
  row('Testcontainers for .NET, in memory', `${HOSTS} --inMemoryPersistence --extentMemoryLimit 64`, { entrypoint }),
  row('Testcontainers for Java', `azurite ${HOSTS}`),
  row('Testcontainers for Node.js', `${HOSTS_AND_PORTS} --skipApiVersionCheck`, { entrypoint }),
  row('Testcontainers for Node.js, in memory, with an account', `${HOSTS_AND_PORTS} --inMemoryPersistence --extentMemoryLimit 64`, { entrypoint, env: OTHER_ACCOUNT }),
  row('Testcontainers for Go', `${HOSTS_AND_PORTS} --inMemoryPersistence --extentMemoryLimit 64.000000`, { entrypoint }),
  row('Testcontainers for Go, blobs', '--blobHost 0.0.0.0 --blobPort 10000', { entrypoint: ['azurite-blob'], lines: [BLOB_LINE] }),
  row('Testcontainers for Go, queues', '--queueHost 0.0.0.0 --queuePort 10001', { entrypoint: ['azurite-queue'], lines: [QUEUE_LINE] }),
  row('Azure Functions Core Tools, in a container', `azurite -l /data ${HOSTS_AND_PORTS} ${QUIET} --debug /data/azurite.log`),
  row('adlfs', 'azurite-blob --loose --blobHost 0.0.0.0 --skipApiVersionCheck', { lines: [BLOB_LINE] }),
] // prettier-ignore

/** Executables on the path, with folders of the machine and free ports: N, F and P are replaced. */
export const LOCAL_LAUNCHERS: readonly Launcher[] = [
  row('Azure Functions Core Tools', `azurite -l F --blobHost 127.0.0.1 --queueHost 127.0.0.1 --tableHost 127.0.0.1 --blobPort P --queuePort P --tablePort P ${QUIET} --debug F/azurite.log`),
  row('Apache Arrow', 'azurite --silent --location F --debug F/debug.log --skipApiVersionCheck'),
] // prettier-ignore
