// Every route of the admin port with every kind of client: programs on this machine and elsewhere, with and without the token, with
// control on and off, and web pages of other origins. The routes are those that a server describes.
import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { after, test } from 'node:test'
import { ACCOUNT } from '../harness.ts'
import { cleanUp, startServerProcess, stop } from '../server-process.ts'

after(cleanUp)

const TOKEN = 'secret-of-this-test'
const OPEN = ['openapi.json', 'nodes']
/** Getting messages of a queue hides them, so it is a change. */
const MESSAGES = `/api/storage/queue/${ACCOUNT}/none/messages`

type Line = { readonly method: string; readonly path: string }

/** The path parameters are ones that exist, or harmless ones. */
function filled(path: string): string {
  const values: Readonly<Record<string, string>> = { service: 'queue', account: ACCOUNT, path: 'none' }
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? 'none')
} // prettier-ignore

async function routesAt(url: string): Promise<readonly Line[]> {
  const { paths } = (await (await fetch(`${url}/api/openapi.json`)).json()) as {
    paths: Record<string, Record<string, unknown>>
  }
  const lines = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path: filled(path) })),
  )
  return [
    ...lines.filter(({ path }) => path.startsWith('/api/')),
    { method: 'GET', path: MESSAGES },
  ]
}

/** The status alone: some answers never end. */
function statusOf(url: string, { method, path }: Line, headers: Headers): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(`${url}${path}`, { method, headers: { ...headers, 'content-length': '0' }, agent: false }) // prettier-ignore
    sent.on('response', (answer) => {
      resolve(answer.statusCode ?? 0)
      answer.destroy()
    })
    sent.on('error', reject)
    sent.end()
  })
}

type Headers = Readonly<Record<string, string>>
const RIGHT = { authorization: `Bearer ${TOKEN}` }

/** What the client says besides, and what it gets for it, whatever its token. */
const PAGES: readonly [Headers, refusal: number][] = [
  [{ origin: 'https://evil.example' }, 403],
  [{ origin: 'null' }, 403],
  [{ 'sec-fetch-site': 'cross-site' }, 403],
  [{ 'sec-fetch-site': 'same-site' }, 403],
  [{ host: 'evil.example' }, 400],
]

/** Arguments of the server, the token sent, and the statuses for reading and for changing; 0: allowed. */
const CLIENTS: readonly [args: readonly string[], Headers, reading: number, changing: number][] = [
  [[], {}, 0, 0],
  [['--controlToken', TOKEN], {}, 401, 401],
  [['--controlToken', TOKEN], { authorization: 'Bearer wrong' }, 401, 401],
  [['--controlToken', TOKEN], { authorization: `Basic ${TOKEN}` }, 401, 401],
  [['--controlToken', TOKEN], RIGHT, 0, 0],
  [['--adminHost', '0.0.0.0'], {}, 403, 403],
  [['--adminHost', '0.0.0.0'], RIGHT, 403, 403],
  [['--adminHost', '0.0.0.0', '--controlToken', TOKEN], {}, 401, 401],
  [['--adminHost', '0.0.0.0', '--controlToken', TOKEN], RIGHT, 0, 403],
  [['--adminHost', '0.0.0.0', '--controlToken', TOKEN, '--control'], {}, 401, 401],
  [['--adminHost', '0.0.0.0', '--controlToken', TOKEN, '--control'], RIGHT, 0, 0],
]

const places = [...new Set(CLIENTS.map(([args]) => args.join(' ')))]

for (const place of places) {
  test(`every route of a server with ${place || 'no options'}`, async () => {
    const args = place === '' ? [] : place.split(' ')
    const server = await startServerProcess({ args: ['--inMemoryPersistence', ...args] })
    const url = server.adminUrl.replace('0.0.0.0', '127.0.0.1')
    const routes = await routesAt(url)
    assert(routes.length > 35, String(routes.length))
    const wrong: string[] = []
    for (const [of, token, reading, changing] of CLIENTS) {
      if (of.join(' ') !== place) continue
      for (const line of routes) wrong.push(...(await askRoute(url, line, token, [reading, changing])))
    } // prettier-ignore
    assert.deepEqual(wrong, [])
    await stop(server)
  })
}

async function askRoute(
  url: string,
  line: Line,
  token: Headers,
  [reading, changing]: readonly [number, number],
): Promise<readonly string[]> {
  const wrong: string[] = []
  const isOpen = OPEN.includes(line.path.replace('/api/', ''))
  const isChange = line.method !== 'GET' || line.path === MESSAGES
  const expected = isOpen ? 0 : isChange ? changing : reading
  const check = (what: string, got: number, due: number): void => {
    const isRight = due === 0 ? ![401, 403].includes(got) : got === due
    if (!isRight) wrong.push(`${line.method} ${line.path} ${what}: ${got}, not ${due || 'allowed'}`)
  }
  check(JSON.stringify(token), await statusOf(url, line, token), expected)
  if (isOpen) return wrong
  for (const [page, refusal] of PAGES) {
    check(JSON.stringify(page), await statusOf(url, line, { ...token, ...page }), refusal)
  }
  return wrong
} // prettier-ignore
