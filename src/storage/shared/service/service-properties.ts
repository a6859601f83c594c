// Properties of an account's service: logging, metrics, CORS, retention, static website, protocols. Set
// replaces each root element that it names completely, and keeps the others. The service validates the document
// against a schema, so missing or out-of-range values are InvalidXmlDocument.
import { invalidXmlNode, StorageError } from '../error.ts'

export type StorageService = 'blob' | 'queue' | 'table' | 'file'

export type RetentionPolicy = { readonly enabled: boolean; readonly days?: number }

export type DeleteRetentionPolicy = RetentionPolicy & { readonly allowPermanentDelete?: boolean }

export type Logging = {
  readonly version: string
  readonly delete: boolean
  readonly read: boolean
  readonly write: boolean
  readonly retentionPolicy: RetentionPolicy
}

export type MetricsSettings = {
  readonly version: string
  readonly enabled: boolean
  readonly includeApis?: boolean
  readonly retentionPolicy: RetentionPolicy
}

export type CorsRule = {
  readonly allowedOrigins: readonly string[]
  readonly allowedMethods: readonly string[]
  readonly allowedHeaders: readonly string[]
  readonly exposedHeaders: readonly string[]
  readonly maxAgeInSeconds: number
}

export type StaticWebsite = {
  readonly enabled: boolean
  readonly indexDocument?: string
  readonly defaultIndexDocumentPath?: string
  readonly errorDocument404Path?: string
}

/** Lists are stored as sent, separated by semicolons. */
export type SmbSettings = {
  readonly multichannelEnabled?: boolean
  readonly encryptionInTransitRequired?: boolean
  readonly versions?: string
  readonly authenticationMethods?: string
  readonly kerberosTicketEncryption?: string
  readonly channelEncryption?: string
}

export type ProtocolSettings = {
  readonly smb?: SmbSettings
  readonly nfs?: { readonly encryptionInTransitRequired?: boolean }
}

export type ServiceProperties = {
  readonly logging: Logging
  readonly hourMetrics: MetricsSettings
  readonly minuteMetrics: MetricsSettings
  readonly cors: readonly CorsRule[]
  readonly defaultServiceVersion?: string
  readonly deleteRetentionPolicy: DeleteRetentionPolicy
  readonly staticWebsite: StaticWebsite
  /** In Azure the management plane sets the next three; here they are properties of the service. */
  readonly isVersioningEnabled: boolean
  readonly containerDeleteRetentionPolicy: RetentionPolicy
  readonly lastAccessTimeTrackingPolicy: { readonly enabled: boolean }
  readonly shareDeleteRetentionPolicy: RetentionPolicy
  readonly protocolSettings: ProtocolSettings
}

export type ServicePropertiesUpdate = Partial<ServiceProperties>

const DISABLED: RetentionPolicy = { enabled: false }
const NO_METRICS: MetricsSettings = { version: '1.0', enabled: false, retentionPolicy: DISABLED }

/** One type for all services; each uses only the roots that it supports. */
export const DEFAULT_SERVICE_PROPERTIES: ServiceProperties = {
  logging: { version: '1.0', delete: false, read: false, write: false, retentionPolicy: DISABLED },
  hourMetrics: NO_METRICS,
  minuteMetrics: NO_METRICS,
  cors: [],
  deleteRetentionPolicy: DISABLED,
  staticWebsite: { enabled: false },
  isVersioningEnabled: false,
  containerDeleteRetentionPolicy: DISABLED,
  lastAccessTimeTrackingPolicy: { enabled: false },
  shareDeleteRetentionPolicy: { enabled: true, days: 7 },
  protocolSettings: { smb: { multichannelEnabled: false } },
}

// prettier-ignore
export const SERVICE_PROPERTY_ROOTS: Readonly<Record<StorageService, readonly (keyof ServiceProperties)[]>> = {
  blob: ['logging', 'hourMetrics', 'minuteMetrics', 'cors', 'deleteRetentionPolicy', 'staticWebsite', 'defaultServiceVersion',
    'isVersioningEnabled', 'containerDeleteRetentionPolicy', 'lastAccessTimeTrackingPolicy'],
  queue: ['logging', 'hourMetrics', 'minuteMetrics', 'cors'],
  table: ['logging', 'hourMetrics', 'minuteMetrics', 'cors'],
  file: ['hourMetrics', 'minuteMetrics', 'cors', 'shareDeleteRetentionPolicy', 'protocolSettings'],
}

/** Applies Set Service Properties. */
export function setServiceProperties(
  current: ServiceProperties,
  update: ServicePropertiesUpdate,
): ServiceProperties {
  checkServiceProperties(update)
  return { ...current, ...update }
}

export function checkServiceProperties(update: ServicePropertiesUpdate): void {
  if (update.logging !== undefined) checkLogging(update.logging)
  if (update.hourMetrics !== undefined) checkMetrics(update.hourMetrics)
  if (update.minuteMetrics !== undefined) checkMetrics(update.minuteMetrics)
  if (update.cors !== undefined) checkCors(update.cors)
  if (update.deleteRetentionPolicy !== undefined) checkRetention(update.deleteRetentionPolicy)
  if (update.containerDeleteRetentionPolicy !== undefined) {
    checkRetention(update.containerDeleteRetentionPolicy)
  }
  if (update.shareDeleteRetentionPolicy !== undefined) {
    checkRetention(update.shareDeleteRetentionPolicy)
  }
  if (update.staticWebsite !== undefined) checkStaticWebsite(update.staticWebsite)
  if (update.defaultServiceVersion !== undefined) checkVersion(update.defaultServiceVersion)
}

export const RETENTION_DAYS_MAX = 365

/** Days are required if the policy is enabled. */
function checkRetention(policy: RetentionPolicy): void {
  if (!policy.enabled) return
  const { days } = policy
  if (days === undefined || !Number.isInteger(days) || days < 1 || days > RETENTION_DAYS_MAX) {
    throw invalidDocument()
  }
}

const LOGGING_VERSIONS: readonly string[] = ['1.0', '2.0']

function checkLogging(logging: Logging): void {
  if (!LOGGING_VERSIONS.includes(logging.version)) throw invalidDocument()
  checkRetention(logging.retentionPolicy)
}

function checkMetrics(metrics: MetricsSettings): void {
  if (metrics.version !== '1.0') throw invalidDocument()
  if (metrics.enabled && metrics.includeApis === undefined) throw invalidDocument()
  checkRetention(metrics.retentionPolicy)
}

function checkVersion(version: string): void {
  if (!/^\d{4}-\d\d-\d\d$/.test(version)) throw invalidXmlNode('DefaultServiceVersion', version)
}

const DOCUMENT_LENGTH_MAX = 1024

function checkStaticWebsite(website: StaticWebsite): void {
  const { enabled, indexDocument, defaultIndexDocumentPath, errorDocument404Path } = website
  const documents = [indexDocument, defaultIndexDocumentPath, errorDocument404Path]
  if (!enabled && documents.some((path) => path !== undefined)) throw invalidDocument()
  // Mutually exclusive: the first is a file name in each folder, the second the path of a single file.
  if (indexDocument !== undefined && defaultIndexDocumentPath !== undefined) throw invalidDocument()
  if (indexDocument !== undefined && indexDocument.includes('/')) {
    throw invalidXmlNode('IndexDocument', indexDocument)
  }
  for (const path of documents) {
    if (path !== undefined && path.length > DOCUMENT_LENGTH_MAX) throw invalidDocument()
  }
}

const CORS_RULE_COUNT_MAX = 5
const CORS_LENGTH_MAX = 2048
const CORS_ITEM_LENGTH_MAX = 256
const CORS_LITERAL_COUNT_MAX = 64
const CORS_PREFIX_COUNT_MAX = 2
// prettier-ignore
const CORS_METHODS: ReadonlySet<string> = new Set(['DELETE', 'GET', 'HEAD', 'MERGE', 'POST', 'PATCH', 'OPTIONS', 'PUT'])

function checkCors(rules: readonly CorsRule[]): void {
  if (rules.length > CORS_RULE_COUNT_MAX) throw invalidDocument()
  let lengthChars = 0
  for (const rule of rules) {
    checkCorsRule(rule)
    for (const list of [rule.allowedOrigins, rule.allowedHeaders, rule.exposedHeaders]) {
      lengthChars += list.join(',').length
    }
  }
  if (lengthChars > CORS_LENGTH_MAX) throw invalidDocument()
}

function checkCorsRule(rule: CorsRule): void {
  const { allowedOrigins, allowedMethods, maxAgeInSeconds } = rule
  if (allowedOrigins.length === 0 || allowedMethods.length === 0) throw invalidDocument()
  if (allowedOrigins.length > CORS_LITERAL_COUNT_MAX) throw invalidDocument()
  for (const origin of allowedOrigins) checkCorsItem('AllowedOrigins', origin)
  for (const method of allowedMethods) {
    if (!CORS_METHODS.has(method)) throw invalidXmlNode('AllowedMethods', method)
  }
  checkCorsHeaders('AllowedHeaders', rule.allowedHeaders)
  checkCorsHeaders('ExposedHeaders', rule.exposedHeaders)
  if (!Number.isSafeInteger(maxAgeInSeconds) || maxAgeInSeconds < 0) throw invalidDocument()
}

function checkCorsHeaders(node: string, headers: readonly string[]): void {
  for (const header of headers) checkCorsItem(node, header)
  const prefixes = headers.filter((header) => header.endsWith('*') && header !== '*')
  if (prefixes.length > CORS_PREFIX_COUNT_MAX) throw invalidXmlNode(node, headers.join(','))
  if (headers.length - prefixes.length > CORS_LITERAL_COUNT_MAX) {
    throw invalidXmlNode(node, headers.join(','))
  }
}

/** Answers contain them in headers, so they must be printable ASCII. */
function checkCorsItem(node: string, item: string): void {
  if (item.length > CORS_ITEM_LENGTH_MAX || !/^[\x21-\x7e]+$/.test(item)) {
    throw invalidXmlNode(node, item)
  }
}

function invalidDocument(): StorageError {
  return new StorageError('InvalidXmlDocument')
}
