// Node's own HTTP. `import … from 'node:http'` reads each of that module's exports, and one of them is a web socket
// that loads a whole HTTP client: a tenth of the time that a start takes. `require` reads only what it is asked for.
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

export const http = require('node:http') as typeof import('node:http')
export const https = require('node:https') as typeof import('node:https')
