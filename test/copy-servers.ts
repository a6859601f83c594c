// A server, and another that it may copy from.
import { startTestServer, type TestServer } from './harness.ts'
import { startSourceServer, type SourceServer } from './source-server.ts'

export type CopyServers = {
  readonly web: SourceServer
  readonly server: TestServer
  close(): Promise<void>
}

export async function startCopyServers(): Promise<CopyServers> {
  const web = await startSourceServer()
  const server = await startTestServer({ allowCopyFrom: [web.origin] })
  return {
    web,
    server,
    close: async () => {
      await server.close()
      await web.close()
    },
  }
}
