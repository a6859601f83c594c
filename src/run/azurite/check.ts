// Reads all databases once before anything is imported: every document must be whole, and every byte that one of them
// names must be there.
import { StartError } from '../../start/start-error.ts'
import {
  decodeAzuriteBlob,
  decodeBlock,
  decodeContainer,
  decodeAzuriteEntity,
  decodeAzuriteMessage,
  decodeQueue,
  decodeService,
  decodeTable,
  isCommitted,
} from './document.ts'
import type { AzuriteFolder, AzuriteService } from './folder.ts'
import { pathOf } from './import-blobs.ts'
import { readLokiFile } from './loki-file.ts'

export type Checked = {
  readonly accounts: ReadonlySet<string>
  readonly totals: ReadonlyMap<string, number>
  /** Blobs that have snapshots, and are there themselves, by path. */
  readonly snapshotBases: ReadonlySet<string>
}

export async function checkFolder(
  folder: AzuriteFolder,
  services: readonly AzuriteService[],
): Promise<Checked> {
  const [accounts, totals] = [new Set<string>(), new Map<string, number>()]
  const count = (account: string, what: string): void => {
    accounts.add(account)
    totals.set(what, (totals.get(what) ?? 0) + 1)
  }
  const snapshots = new Set<string>()
  const bases = new Set<string>()
  const check: Readonly<Record<string, (document: unknown, collection: string) => void>> = {
    $SERVICES_COLLECTION$: (document) => void accounts.add(decodeService(document).account),
    $CONTAINERS_COLLECTION$: (document) => count(decodeContainer(document).account, 'containers'),
    $BLOBS_COLLECTION$: (document) => {
      if (!isCommitted(document)) return
      const blob = checkBlob(folder, document)
      if (blob.snapshot === '') count(blob.account, 'blobs')
      else {
        count(blob.account, 'snapshots')
        snapshots.add(pathOf(blob))
      }
    },
    $BLOCKS_COLLECTION$: (document) => {
      const block = decodeBlock(document)
      folder.check('blob', block.chunk, `a block of ${pathOf(block)}`)
      count(block.account, 'uncommitted blocks')
    },
    $QUEUES_COLLECTION$: (document) => count(decodeQueue(document).account, 'queues'),
    $MESSAGES_COLLECTION$: (document) => {
      const { account, queue, id, chunk } = decodeAzuriteMessage(document)
      folder.check('queue', chunk, `the message ${id} of ${account}/${queue}`)
      count(account, 'messages')
    },
    $TABLES_COLLECTION$: (document) => count(decodeTable(document).account, 'tables'),
  }
  for (const service of services) {
    const path = folder.database(service)
    if (path === undefined) continue
    for await (const { collection, document } of readLokiFile(path)) {
      const known = check[collection]
      try {
        if (known !== undefined) known(document, collection)
        else if (service === 'table') checkEntity(document, collection, count)
      } catch (error) {
        if (error instanceof StartError) throw new StartError(`${path}: ${error.message}`)
        throw error
      }
    }
  }
  if (snapshots.size > 0) await findBases(folder, snapshots, bases)
  return { accounts, totals, snapshotBases: bases }
}

function checkEntity(
  document: unknown,
  collection: string,
  count: (account: string, what: string) => void,
): void {
  decodeAzuriteEntity(document)
  count(collection.split('$', 1)[0] ?? '', 'entities')
}

function checkBlob(folder: AzuriteFolder, document: unknown) {
  const blob = decodeAzuriteBlob(document)
  const { whole, blocks, pages } = blob
  const chunks = [
    ...(whole === undefined ? [] : [whole]),
    ...[...blocks, ...pages].map(({ chunk }) => chunk),
  ]
  for (const chunk of chunks) folder.check('blob', chunk, `the blob ${pathOf(blob)}`)
  return blob
}

async function findBases(folder: AzuriteFolder, snapshots: Set<string>, bases: Set<string>) {
  for await (const { collection, document } of readLokiFile(folder.database('blob') ?? '')) {
    if (collection !== '$BLOBS_COLLECTION$' || !isCommitted(document)) continue
    const blob = decodeAzuriteBlob(document)
    if (blob.snapshot === '' && snapshots.has(pathOf(blob))) bases.add(pathOf(blob))
  }
}
