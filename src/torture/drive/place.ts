// Creates what the clients of a run share, and removes it.
import type { Reply, Request, Send } from './kind.ts'
import type { Target, Terms } from './workload.ts'

/** Whether the account of Data Lake Storage has directories. False only if the server says so. */
export async function isHierarchical(send: Send): Promise<boolean> {
  const request = {
    service: 'dfs',
    method: 'GET',
    path: '/?restype=account&comp=properties',
  } as const
  const reply = await send(request).catch(() => undefined)
  return reply?.headers['x-ms-is-hns-enabled'] !== 'false'
}

/** Also if an earlier try was not answered. */
const CREATED = new Set([201, 204, 409])
const GONE = new Set([200, 202, 204, 404])
const TRIES = 40
const PAUSE_MS = 250

export type Sleep = (ms: number) => Promise<void>

export async function createPlaces(
  send: Send,
  { run, services }: Terms,
  targets: readonly Target[],
  sleep: Sleep,
): Promise<void> {
  // prettier-ignore
  const put = (service: Request['service'], path: string): Promise<void> =>
    insist(send, { service, method: 'PUT', path }, CREATED, sleep)
  if (services.includes('blob')) await put('blob', `/${run}?restype=container`)
  if (hasFiles(services)) await put('file', `/${run}?restype=share`)
  if (services.includes('dfs')) await put('dfs', `/${run}?resource=filesystem`)
  if (services.includes('table')) {
    const headers = { 'Content-Type': 'application/json', Accept: 'application/json' }
    const body = JSON.stringify({ TableName: run })
    await insist(send, { service: 'table', method: 'POST', path: '/Tables', headers, body }, CREATED, sleep) // prettier-ignore
  }
  for (const { kind, name } of targets) {
    if (kind.name === 'queue') await put('queue', `/${run}-${name}`)
    if (kind.name === 'directory') await put('file', `/${run}/${name}?restype=directory`)
    if (kind.name === 'tree') await put('dfs', `/${run}/${name}?resource=directory`)
  }
}

/** Shares are created by the File service. */
function hasFiles(services: Terms['services']): boolean {
  return services.includes('file') || services.includes('smb')
}

export async function removePlaces(
  send: Send,
  { run, services }: Terms,
  targets: readonly Target[],
  sleep: Sleep,
): Promise<void> {
  // prettier-ignore
  const remove = (service: Request['service'], path: string): Promise<void> =>
    insist(send, { service, method: 'DELETE', path }, GONE, sleep)
  const breakLease = (path: string): Promise<unknown> =>
    send({ service: 'blob', method: 'PUT', path: `${path}?restype=container&comp=lease`, headers: { 'x-ms-lease-action': 'break', 'x-ms-lease-break-period': '0' } }) // prettier-ignore
  for (const { kind, name } of targets) {
    if (kind.name === 'queue') await remove('queue', `/${run}-${name}`)
    if (kind.name !== 'container') continue
    await breakLease(`/${run}-${name}`).catch(() => undefined)
    await remove('blob', `/${run}-${name}?restype=container`)
  }
  if (services.includes('blob')) await remove('blob', `/${run}?restype=container`)
  if (hasFiles(services)) await remove('file', `/${run}?restype=share`)
  if (services.includes('dfs')) await remove('dfs', `/${run}?resource=filesystem`)
  if (services.includes('table')) await remove('table', `/Tables('${run}')`)
}

/** A server that has just started may be busy. */
async function insist(
  send: Send,
  request: Request,
  good: ReadonlySet<number>,
  sleep: Sleep,
): Promise<void> {
  // prettier-ignore
  for (let tries = 1; ; tries += 1) {
    const reply = await send(request).catch((error: unknown): Error | Reply => error as Error)
    if (!(reply instanceof Error) && good.has(reply.status)) return
    if (tries < TRIES && (reply instanceof Error || reply.status >= 500)) await sleep(PAUSE_MS)
    else throw new Unprepared(request, reply)
  }
}

export class Unprepared extends Error {
  constructor({ service, method, path }: Request, reply: Reply | Error) {
    const why = reply instanceof Error ? reply.message : `${reply.status} ${reply.body.toString().slice(0, 300)}` // prettier-ignore
    super(`the ${service} service does not answer ${method} ${path} as expected: ${why}`)
    this.name = 'Unprepared'
  }
}
