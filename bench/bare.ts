// The minimal Node server for the same load: reads requests and answers with a body of the right size. The difference
// from this is Lazuli's own cost.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'

const SMALL = Buffer.alloc(4 * 1024, 'x')
const LARGE = Buffer.alloc(1024 * 1024, 'x')

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    response.end(request.url?.includes('-1m/') ? LARGE : SMALL)
    return
  }
  request.on('data', () => {})
  request.on('end', () => {
    response.statusCode = 201
    response.end()
  })
})

server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  assert(typeof address === 'object' && address !== null)
  console.log(`Bare Blob service is successfully listening at http://127.0.0.1:${address.port}`)
})
process.on('SIGTERM', () => process.exit(0))
