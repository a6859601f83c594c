// What clients hold now, from the store, and who they are, from the journal. Operators can end leases, the invisibility of
// messages, and opens.
import { listHeldBlocks } from '../../storage/blob/held/block.ts'
import { listBlobCopies } from '../../storage/blob/held/copy.ts'
import { listBlobLeases } from '../../storage/blob/held/lease.ts'
import { listFileCopies } from '../../storage/file/held/copy.ts'
import { listFileLeases } from '../../storage/file/held/lease.ts'
import {
  findOpenPlace,
  forceClose,
  listHeldLocks,
  listHeldOpens,
} from '../../storage/file/held/open.ts'
import { shareNames } from '../../storage/file/held/share-name.ts'
import { listHeldMessages, makeMessageVisible } from '../../storage/queue/held.ts'
import { messageIdKey } from '../../storage/queue/keys.ts'
import type { HeldApi, HeldOptions, Holder, InvisibleMessage } from '../api.ts'
import { breakLease } from './break-lease.ts'
import { HeldError, servedElsewhere } from './held-error.ts'
import {
  blocksStart,
  copyStart,
  findHolders,
  leaseStart,
  messageStart,
  volatileStart,
  type Sought,
} from './origin.ts'
import type { HeldSource } from './source.ts'
import {
  blocksView,
  copyView,
  leaseView,
  lockView,
  messageView,
  openView,
  resourceAt,
} from './view.ts'

const COUNT = 1_000
const COUNT_MAX = 10_000
/** One scan each. */
const QUEUES_MAX = 100_000

export function createHeld(source: HeldSource): HeldApi {
  const { kv, journal } = source
  /** The views of items, each with its holder. */
  const withHolders = <Item, View>(
    items: readonly Item[],
    sought: (item: Item) => Sought,
    view: (item: Item, holder: Holder) => View,
  ): readonly View[] => {
    const holders = findHolders(journal, items.map(sought))
    return items.map((item, at) => view(item, holders[at] ?? {}))
  }
  return {
    async leases(options) {
      const [countMax, { nowMs }] = [countOf(options), source.moment()]
      const blobs = await listBlobLeases(kv, { countMax, nowMs })
      const files = await listFileLeases(source.files() ?? kv, {
        countMax: countMax - blobs.length,
        nowMs,
      })
      return withHolders(
        [...blobs, ...files],
        ({ key, lease }) => leaseStart(key, lease),
        (leased, holder) => leaseView(leased, holder, nowMs),
      )
    },
    async invisibleMessages(options) {
      const [countMax, { nowMs }] = [countOf(options), source.moment()]
      const list = { countMax, queuesMax: QUEUES_MAX, nowMs }
      const { messages } = await listHeldMessages(kv, list)
      return withHolders(
        messages,
        ({ queueId, id, sequence }) => messageStart(messageIdKey(queueId, id), sequence),
        (message, holder) => messageView(message, holder, nowMs),
      )
    },
    async opens(options) {
      const countMax = countOf(options)
      const files = source.files()
      const opens = files === undefined ? [] : await listHeldOpens(files, countMax)
      return withHolders(
        opens,
        ({ key }) => volatileStart(key),
        (held, holder) => openView(held, holder, source.userOf(held.open.openId)),
      )
    },
    async locks(options) {
      const countMax = countOf(options)
      const files = source.files()
      const locks = files === undefined ? [] : await listHeldLocks(files, countMax)
      return withHolders(locks, ({ key }) => volatileStart(key), lockView)
    },
    async copies(options) {
      const countMax = countOf(options)
      const blobs = await listBlobCopies(kv, countMax)
      const files = await listFileCopies(source.files() ?? kv, countMax)
      return withHolders(
        [...blobs, ...files].slice(0, countMax),
        ({ key, pending }) => copyStart(key, pending.startedMs),
        copyView,
      )
    },
    async uncommitted(options) {
      const [countMax, { nowMs }] = [countOf(options), source.moment()]
      return withHolders(
        await listHeldBlocks(kv, { countMax, nowMs }),
        ({ account, container, blob, staging }) =>
          blocksStart(resourceAt(account, [container, blob]), staging.createdMs),
        blocksView,
      )
    },
    breakLease: (resource, kind) => breakLease(source, resource, kind),
    makeVisible: (message) => makeVisible(source, message),
    closeOpen: (id) => closeOpen(source, id),
  }
}

function countOf({ countMax = COUNT }: HeldOptions = {}): number {
  if (Number.isInteger(countMax) && countMax >= 1 && countMax <= COUNT_MAX) return countMax
  const message = `countMax must be a whole number from 1 to ${COUNT_MAX}`
  throw new HeldError('InvalidField', message, 'countMax')
}

async function makeVisible(
  { kv, moment }: HeldSource,
  { account, queue, messageId }: Pick<InvisibleMessage, 'account' | 'queue' | 'messageId'>,
): Promise<void> {
  const { nowMs } = moment()
  const id = messageId.toLowerCase()
  const outcome = await kv.write((tx) => makeMessageVisible(tx, { account, queue }, id, nowMs))
  if (outcome === 'moved') return
  const place = resourceAt(account, [queue])
  if (outcome === 'no queue') throw new HeldError('NotHeld', `there is no queue ${place}`, 'queue')
  const message =
    outcome === 'visible'
      ? `the message ${messageId} in the queue ${place} is visible already`
      : `there is no message ${messageId} in the queue ${place}`
  throw new HeldError('NotHeld', message, 'messageId')
}

async function closeOpen({ files, moment }: HeldSource, id: string): Promise<void> {
  if (!/^\d{1,15}$/.test(id)) {
    throw new HeldError('InvalidField', 'id must be the id of an open, a number', 'id')
  }
  const kv = files()
  if (kv === undefined) throw servedElsewhere()
  const place = await findOpenPlace(kv, Number(id))
  const share = place && (await kv.read((tx) => shareNames(tx))).get(place.shareId)
  const now = moment()
  const isClosed =
    place !== undefined && (await kv.write((tx) => forceClose(tx, place, share, now)))
  if (!isClosed) throw new HeldError('NotHeld', `there is no open ${id}`, 'id')
}
