// The real Azurite, which writes the data that the tests import.
import { fileURLToPath } from 'node:url'
import { launch, stop, type Launch } from '../server-process.ts'

const AZURITE = fileURLToPath(
  new URL('../../node_modules/azurite/dist/src/azurite.js', import.meta.url),
)

export type AzuriteProcess = {
  readonly blobPort: number
  readonly queuePort: number
  readonly tablePort: number
  /** Ends it as its users do; it writes its databases then. */
  stop(): Promise<void>
}

export async function startAzurite(
  location: string,
  env: NonNullable<Launch['env']> = {},
): Promise<AzuriteProcess> {
  const ports = ['--blobPort', '0', '--queuePort', '0', '--tablePort', '0']
  const running = launch({
    program: [process.execPath, AZURITE],
    args: ['--location', location, '--silent', '--disableTelemetry', '--skipApiVersionCheck', ...ports], // prettier-ignore
    env,
  })
  const portOf = async (service: string): Promise<number> => {
    const line = new RegExp(`${service} service is successfully listening at \\S+:(\\d+)`)
    return Number((await running.printed(line))[1])
  }
  return {
    blobPort: await portOf('Blob'),
    queuePort: await portOf('Queue'),
    tablePort: await portOf('Table'),
    stop: async () => {
      await stop(running)
    },
  }
}
