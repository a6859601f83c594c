// Deletes everything that a hostile run has created, with the API only: breaks leases, removes holds and policies,
// deletes containers, queues and shares.
import { rawRequest, xmlTexts, type RawRequest, type RawResponse } from './harness.ts'
import type { Headers } from './hostile-seed.ts'
import type { HostileWorld, ServiceName } from './hostile-world.ts'

const BREAK = { 'x-ms-lease-action': 'break', 'x-ms-lease-break-period': '0' }
const NO_PROTECTION =
  '<StorageServiceProperties><IsVersioningEnabled>false</IsVersioningEnabled>' +
  '<DeleteRetentionPolicy><Enabled>false</Enabled></DeleteRetentionPolicy>' +
  '<ContainerDeleteRetentionPolicy><Enabled>false</Enabled></ContainerDeleteRetentionPolicy>' +
  '<Logging><Version>1.0</Version><Delete>false</Delete><Read>false</Read><Write>false</Write>' +
  '<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></Logging><Cors /></StorageServiceProperties>'

const NO_SHARE_PROTECTION =
  '<StorageServiceProperties><ShareDeleteRetentionPolicy><Enabled>false</Enabled></ShareDeleteRetentionPolicy></StorageServiceProperties>'

/** Deletes every container, queue and share except the canary's; returns those that could not be deleted. */
export async function deleteAll(world: HostileWorld): Promise<string[]> {
  const ask: Ask = (service, request) => rawRequest({ blobPort: world.ports[service] }, request)
  const path = '/?restype=service&comp=properties'
  await ask('blob', { method: 'PUT', path, body: NO_PROTECTION })
  const refused: string[] = []
  const remove = async (
    service: ServiceName,
    name: string,
    query: string,
    headers: Headers = {},
  ): Promise<void> => {
    if (name === 'canary' || name === '$logs') return
    const target = { method: 'DELETE', path: `/${encodeURI(name)}${query}`, headers }
    const { status, text } = await ask(service, target)
    if (status >= 300) refused.push(`${service} ${name}: ${status} ${text}`)
  }
  const containers = await ask('blob', { method: 'GET', path: '/?comp=list&include=system' })
  for (const name of xmlTexts(containers.text, 'Name')) {
    const lease = `/${encodeURIComponent(name)}?restype=container&comp=lease`
    await ask('blob', { method: 'PUT', path: lease, headers: BREAK })
    await remove('blob', name, '?restype=container')
  }
  const queues = await ask('queue', { method: 'GET', path: '/?comp=list' })
  for (const name of xmlTexts(queues.text, 'Name')) await remove('queue', name, '')
  await ask('file', { method: 'PUT', path, body: NO_SHARE_PROTECTION })
  const shares = await ask('file', { method: 'GET', path: '/?comp=list' })
  for (const name of xmlTexts(shares.text, 'Name')) {
    const lease = `/${name}?restype=share&comp=lease`
    await ask('file', { method: 'PUT', path: lease, headers: BREAK })
    await remove('file', name, '?restype=share', { 'x-ms-delete-snapshots': 'include-leased' })
  }
  // The deletes were logged. With versioning, deleting the current blob creates another version.
  await world.server.flushLogs()
  for (let pass = 0; pass < 2; pass += 1) await deleteLogs(ask)
  return refused
}

type Ask = (service: ServiceName, request: RawRequest) => Promise<RawResponse>

/** $logs itself stays: the service's own container cannot be deleted. */
async function deleteLogs(ask: Ask): Promise<void> {
  const path = '/$logs?restype=container&comp=list&include=versions,snapshots'
  const { text } = await ask('blob', { method: 'GET', path })
  const items = [...text.matchAll(/<Blob>.*?<\/Blob>/gs)].map(([item]) => item)
  for (const item of items) {
    const version = xmlTexts(item, 'VersionId').map((id) => `?versionid=${id}`)
    const blob = `/$logs/${encodeURI(xmlTexts(item, 'Name')[0] ?? '')}`
    const headers = { 'x-ms-delete-snapshots': 'include' }
    for (const query of [...version, '']) {
      const target = { method: 'DELETE', path: blob + query }
      await ask('blob', query === '' ? { ...target, headers } : target)
    }
  }
}
