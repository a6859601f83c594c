// Imports the data of Azurite into a store that is empty. What it does not import, it names.
import { StartError } from '../../start/start-error.ts'
import { severalAtOnce } from '../seed/several-at-once.ts'
import type { Checked } from './check.ts'
import {
  decodeAzuriteBlob,
  decodeBlock,
  decodeContainer,
  isCommitted,
  type BlobDocument,
  type ContainerDocument,
} from './document.ts'
import { AZURITE_SERVICES, type AzuriteFolder, type AzuriteService } from './folder.ts'
import { finishContainer, importBlob, importBlobSnapshot, importContainer, importLease, pathOf } from './import-blobs.ts' // prettier-ignore
import { importQueues } from './import-queues.ts'
import { importServices } from './import-services.ts'
import { importTables } from './import-tables.ts'
import { readLokiFile, type LokiDocument } from './loki-file.ts'
import { sendBlock } from './put-content.ts'
import { ImportReport, type Imported, type ImportProgress } from './report.ts'
import { unlessRefused, type Importing, type ImportWorld } from './world.ts'

export type ImportSettings = {
  readonly folder: AzuriteFolder
  readonly services: readonly AzuriteService[]
  readonly checked: Checked
  readonly progress: ImportProgress
}

export async function importAzurite(
  world: ImportWorld,
  { folder, services, checked, progress }: ImportSettings,
): Promise<Imported> {
  const report = new ImportReport(checked.totals, progress)
  const into = { ...world, folder, report }
  const before = folder.state()
  const databases = AZURITE_SERVICES.flatMap((service) => {
    const path = services.includes(service) ? folder.database(service) : undefined
    return path === undefined ? [] : [{ service, path }]
  })
  for (const { service, path } of databases) {
    if (service === 'blob') await importBlobs(into, path, checked)
    else if (service === 'queue') await importQueues(into, path)
    else await importTables(into, path)
  }
  // Last: a retention policy would keep what is overwritten above.
  for (const { service, path } of databases) await importServices(into, service, path)
  if (folder.state() !== before) {
    throw new StartError(`${folder.path} has changed meanwhile; stop Azurite and import again`)
  }
  return report.result()
}

async function importBlobs(into: Importing, path: string, checked: Checked): Promise<void> {
  const containers = new Set<string>()
  for await (const document of documentsOf(path, '$CONTAINERS_COLLECTION$')) {
    const container = decodeContainer(document)
    if (await importContainer(into, container)) containers.add(nameOf(container))
  }
  for await (const blob of blobsOf(path)) {
    if (blob.snapshot === '') continue
    if (checked.snapshotBases.has(pathOf(blob))) await importBlobSnapshot(into, blob)
    else into.report.leaveOut(`snapshot ${blob.snapshot} of ${pathOf(blob)}`, 'its blob is gone')
  }
  await severalAtOnce(blobsOf(path), async (blob) => {
    if (blob.snapshot === '') await importBlob(into, blob)
  })
  for await (const document of documentsOf(path, '$BLOCKS_COLLECTION$')) {
    const { id, chunk, ...blob } = decodeBlock(document)
    const what = `uncommitted block ${id} of ${pathOf(blob)}`
    if (await unlessRefused(into, what, () => sendBlock(into, blob, { id, chunk })))
      into.report.count('uncommitted blocks')
  }
  for await (const blob of blobsOf(path)) {
    const isThere = containers.has(`${blob.account}/${blob.container}`)
    if (isThere && blob.snapshot === '') await importLease(into, blob)
  }
  for await (const document of documentsOf(path, '$CONTAINERS_COLLECTION$')) {
    const container = decodeContainer(document)
    if (containers.has(nameOf(container))) await finishContainer(into, container)
  }
}

function nameOf({ account, name }: ContainerDocument): string {
  return `${account}/${name}`
}

async function* blobsOf(path: string): AsyncGenerator<BlobDocument> {
  for await (const document of documentsOf(path, '$BLOBS_COLLECTION$')) {
    if (isCommitted(document)) yield decodeAzuriteBlob(document)
  }
}

async function* documentsOf(
  path: string,
  wanted: LokiDocument['collection'],
): AsyncGenerator<unknown> {
  for await (const { collection, document } of readLokiFile(path)) {
    if (collection === wanted) yield document
  }
}
