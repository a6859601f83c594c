// Parts of Node that a start can do without: loaded when they are first asked for. `import … from 'node:http'`
// would besides read each of that module's exports, one of which loads a whole other HTTP client.
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

export const nodeHttp = () => require('node:http') as typeof import('node:http')
export const nodeHttps = () => require('node:https') as typeof import('node:https')
export const nodeTls = () => require('node:tls') as typeof import('node:tls')
