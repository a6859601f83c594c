// The record of a service's properties. It doesn't exist until the first Set Service Properties.
import { derived } from '../../../kv/derived.ts'
import { decodeKey, encodeKey } from '../../../kv/key.ts'
import { prefixRange, type Key, type ReadTx, type Step, type Tx } from '../../../kv/kv.ts'
import { scanAll } from '../../../kv/scan.ts'
import { decodeRecord, encodeRecord, type StoredRecord } from '../../../kv/record.ts'
import { memoize } from '../../../memory/memoize.ts'
import { checkProtocolSettings } from './protocol-settings.ts'
import {
  DEFAULT_SERVICE_PROPERTIES,
  setServiceProperties,
  type ServiceProperties,
  type ServicePropertiesUpdate,
  type StorageService,
} from './service-properties.ts'

type ServiceAddress = { readonly account: string; readonly service: StorageService }

/** → ServiceProperties. Memoized, because nearly every request reads them. */
function servicePropertiesKey({ account, service }: ServiceAddress): Key {
  return KEY_OF[service](account)
}

const KEY_OF: Readonly<Record<StorageService, (account: string) => Key>> = {
  blob: keyOfService('blob'),
  queue: keyOfService('queue'),
  table: keyOfService('table'),
  file: keyOfService('file'),
}

/** Copied, since a memoized key would keep the shared memory of many keys alive. */
function keyOfService(service: StorageService): (account: string) => Key {
  return memoize((account) => Buffer.from(encodeKey('service-properties', account, service)))
}

export function* getServiceProperties(
  tx: ReadTx,
  address: ServiceAddress,
): Step<ServiceProperties> {
  const record = yield* tx.get(servicePropertiesKey(address))
  return record === undefined ? DEFAULT_SERVICE_PROPERTIES : decodeProperties(record)
}

/** Records of older versions lack newer properties. */
function decodeProperties(record: StoredRecord): ServiceProperties {
  return derived(record, 'properties', () => ({
    ...DEFAULT_SERVICE_PROPERTIES,
    ...decodeRecord<ServiceProperties>(record),
  }))
}

export function* changeServiceProperties(
  tx: Tx,
  address: ServiceAddress,
  update: ServicePropertiesUpdate,
): Step<void> {
  // Rejects settings that would have no effect, so that nobody relies on them.
  if (update.protocolSettings !== undefined) checkProtocolSettings(update.protocolSettings)
  const current = yield* getServiceProperties(tx, address)
  const changed = setServiceProperties(current, update)
  tx.put(servicePropertiesKey(address), encodeRecord(changed))
}

const SCAN_COUNT = 1_000

/** The services have the default properties again: of all accounts, or of one. */
export function* resetServiceProperties(
  tx: Tx,
  services: readonly StorageService[],
  account: string | undefined,
): Step<void> {
  const names = account === undefined ? [] : [account]
  const range = prefixRange(encodeKey('service-properties', ...names))
  for (const { key } of yield* scanAll(tx, range, SCAN_COUNT)) {
    if (services.some((service) => service === decodeKey(key)[2])) tx.delete(key)
  }
}
