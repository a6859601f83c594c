// The record of an account's service: its properties. Absent until the first Set Service Properties.
import { encodeKey } from '../kv/key.ts'
import type { ReadTx, Step, Tx, Value } from '../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../kv/record.ts'
import { checkProtocolSettings } from './file/protocol-settings.ts'
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
  const properties = yield* tx.getWith(servicePropertiesKey(address), decodeProperties)
  return properties ?? DEFAULT_SERVICE_PROPERTIES
}

/** A record of an older server lacks what came later. */
function decodeProperties(value: Value): ServiceProperties {
  return { ...DEFAULT_SERVICE_PROPERTIES, ...decodeRecord<ServiceProperties>(value) }
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
