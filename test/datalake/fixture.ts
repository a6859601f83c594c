// A server with both kinds of accounts, and raw requests to Data Lake Storage: on the Blob port, in path style, as most
// clients of a local server send them.
import assert from 'node:assert/strict'
import { after } from 'node:test'
import {
  ACCOUNT,
  outcome,
  rawRequest,
  startTestServer,
  type Headers,
  type RawResponse,
  type Send,
  type TestServer,
  type TestServerOptions,
} from '../harness.ts'

export const LAKE = 'devlake1'

export type LakeFixture = {
  readonly server: TestServer
  /** To the account with a hierarchical namespace. */
  readonly lake: Send
  /** To the flat account. */
  readonly flat: Send
  /** Creates a filesystem in the lake. */
  filesystem(name: string): Promise<string>
  /** Creates a file with content, by Create, Append and Flush. */
  write(path: string, content: string): Promise<RawResponse>
}

export async function startLakeFixture(options: TestServerOptions = {}): Promise<LakeFixture> {
  const server = await startTestServer(options)
  after(() => server.close())
  const lake = sendAs(server.blobPort, LAKE)
  return {
    server,
    lake,
    flat: sendAs(server.blobPort, ACCOUNT),
    filesystem: async (name) => {
      const created = await lake('PUT', `/${name}?resource=filesystem`)
      assert.equal(created.status, 201, created.text)
      return `/${name}`
    },
    write: (path, content) => writeFile(lake, path, content),
  }
}

export function sendAs(port: number, account: string): Send {
  return (method, path, headers: Headers = {}, body, sign = 'sharedKey') => {
    const request = { method, path, headers, sign, account, ...(body !== undefined && { body }) }
    return rawRequest({ blobPort: port }, request)
  }
}

export async function writeFile(send: Send, path: string, content: string): Promise<RawResponse> {
  const lengthBytes = Buffer.byteLength(content)
  expect(await send('PUT', `${path}?resource=file`), '201')
  if (lengthBytes > 0) {
    expect(await send('PATCH', `${path}?action=append&position=0`, {}, content), '202')
  }
  const flushed = await send('PATCH', `${path}?action=flush&position=${lengthBytes}`)
  return expect(flushed, '200')
}

/** Asserts the status and, for an error, the code: in the header, and in the body as JSON. */
export function expect(answer: RawResponse, expected: string): RawResponse {
  assert.equal(outcome(answer), expected, answer.text)
  const [, code] = expected.split(' ')
  if (code === undefined || answer.text === '') return answer
  const { error } = JSON.parse(answer.text)
  assert.equal(error.code, code)
  assert.match(error.message, /\nRequestId:[0-9a-f-]{36}\nTime:\d{4}-\d\d-\d\dT/)
  assert.equal(answer.headers['content-type'], 'application/json;charset=utf-8')
  return answer
}
