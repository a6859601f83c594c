// Node modules that are not needed at start-up, loaded on first use. `import … from 'node:http'` would also read
// every export of that module, one of which loads a whole second HTTP client.
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

export const nodeHttp = () => require('node:http') as typeof import('node:http')
export const nodeHttps = () => require('node:https') as typeof import('node:https')
export const nodeTls = () => require('node:tls') as typeof import('node:tls')
