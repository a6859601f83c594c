// The record of an account's service: its properties. Absent until the first Set Service Properties.
import { derived } from '../../kv/derived.ts'
import { encodeKey } from '../../kv/key.ts'
import type { ReadTx, Step, Tx } from '../../kv/kv.ts'
import { decodeRecord, encodeRecord, type StoredRecord } from '../../kv/record.ts'
import { checkProtocolSettings } from './protocol-settings.ts'
import {
  DEFAULT_SERVICE_PROPERTIES,
  setServiceProperties,
  type ServiceProperties,
  type ServicePropertiesUpdate,
  type StorageService,
} from './service-properties.ts'

export type ServiceAddress = { readonly account: string; readonly service: StorageService }

/** → ServiceProperties */
function servicePropertiesKey({ account, service }: ServiceAddress) {
  return encodeKey('service-properties', account, service)
}

export function* getServiceProperties(
  tx: ReadTx,
  address: ServiceAddress,
): Step<ServiceProperties> {
  const record = yield* tx.get(servicePropertiesKey(address))
  return record === undefined ? DEFAULT_SERVICE_PROPERTIES : decodeProperties(record)
}

/** A record of an older server lacks what came later. */
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
  // A setting that would have no effect is refused: being told is better than to rely on it.
  if (update.protocolSettings !== undefined) checkProtocolSettings(update.protocolSettings)
  const current = yield* getServiceProperties(tx, address)
  const changed = setServiceProperties(current, update)
  tx.put(servicePropertiesKey(address), encodeRecord(changed))
}
