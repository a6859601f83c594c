// The PostgreSQL server of a test process.
import { after } from 'node:test'
import { startServer, type TestServer } from './private-server.ts'

export { SKIP_REASON, STANDBY_SKIP_REASON, startServer, type TestServer } from './private-server.ts'

let starting: Promise<TestServer> | undefined

// Here and not in `testServer`: a hook that is added while another one runs belongs to that one.
after(async () => (await starting)?.stop())

/** The server of this test process, started by the first test that needs it. Its commits don't wait for the disk. */
export function testServer(): Promise<TestServer> {
  return (starting ??= startServer(['-c', 'fsync=off']))
}
