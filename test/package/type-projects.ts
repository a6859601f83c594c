// TypeScript projects as users have them: one for each way in which TypeScript finds a package and its types.

type Settings = Readonly<Record<string, string | boolean>>

export type TypeProject = {
  readonly name: string
  /** Of its package.json. */
  readonly type: 'module' | 'commonjs'
  readonly file: string
  readonly source: string
  /** Of its tsconfig.json. */
  readonly settings: Settings
}

/** `console` is declared, since the project has neither the types of Node nor those of a browser. */
const BODY = `
declare const console: { log(text: string): void }
const options: ServerOptions = { accounts: { me: 'AAAA' }, clock: () => 0 }
async function main(): Promise<void> {
  const server: LazuliServer = await startServer(options)
  const endpoint: string = server.blobEndpoint
  const point: Point = 'checked'
  // @ts-expect-error there is no such point
  const none: Point = 'later'
  try {
    // @ts-expect-error a port is a number
    await startServer({ blobPort: '10000' })
  } catch {
    await server.close()
    console.log('closed')
  }
}
void main()
async function block(): Promise<string> {
  await using server = await startServer()
  return server.connectionString
}
export type Entry = JournalEntry | Race | typeof block
`

const TYPES = 'type JournalEntry, type LazuliServer, type Point, type Race, type ServerOptions'
const IMPORT = `import { startServer, ${TYPES} } from 'lazuli'\n${BODY}`
const REQUIRE = `import lazuli = require('lazuli')
import startServer = lazuli.startServer
type ServerOptions = lazuli.ServerOptions
type LazuliServer = lazuli.LazuliServer
type JournalEntry = lazuli.JournalEntry
type Race = lazuli.Race
type Point = lazuli.Point
${BODY}`

export const TYPE_PROJECTS: readonly TypeProject[] = [
  project('ES module, nodenext', 'module', { module: 'nodenext' }),
  project('ES module, node16', 'module', { module: 'node16' }),
  project('CommonJS, nodenext', 'commonjs', { module: 'nodenext' }),
  project('CommonJS, node16', 'commonjs', { module: 'node16' }),
  project('CommonJS, commonjs', 'commonjs', { module: 'commonjs' }),
  project('bundler', 'module', { module: 'esnext', moduleResolution: 'bundler' }),
  project('preserve', 'module', { module: 'preserve', noEmit: true }),
  { ...project('import = require, nodenext', 'module', { module: 'nodenext' }), file: 'consumer.cts', source: REQUIRE },
] // prettier-ignore

/** For TypeScript 5: version 7 no longer has these settings. */
export const OLD_TYPE_PROJECTS: readonly TypeProject[] = [
  project('node10', 'commonjs', { module: 'commonjs', moduleResolution: 'node10' }),
  project('node10 without esModuleInterop', 'commonjs', { module: 'commonjs', moduleResolution: 'node10', esModuleInterop: false }),
  project('CommonJS, nodenext, TypeScript 5', 'commonjs', { module: 'nodenext' }),
  project('ES module, nodenext, TypeScript 5', 'module', { module: 'nodenext' }),
] // prettier-ignore

function project(name: string, type: TypeProject['type'], settings: Settings): TypeProject {
  return { name, type, file: 'consumer.ts', source: IMPORT, settings }
}
