// Get and Set Service Properties on the wire, with the service's names and order of elements. A document that violates
// the schema, or a value that is not a boolean or a number, is answered with InvalidXmlDocument.
import { StorageError } from '../../storage/shared/error.ts'
import {
  RETENTION_DAYS_MAX,
  SERVICE_PROPERTY_ROOTS,
  type CorsRule,
  type DeleteRetentionPolicy,
  type Logging,
  type MetricsSettings,
  type ProtocolSettings,
  type RetentionPolicy,
  type ServiceProperties,
  type ServicePropertiesUpdate,
  type SmbSettings,
  type StaticWebsite,
  type StorageService,
} from '../../storage/shared/service/service-properties.ts'
import {
  invalidXml,
  parseXml,
  XML_DECLARATION,
  xmlChild,
  xmlElement,
  xmlOptional,
  type XmlNode,
} from '../../http/protocol/xml.ts'

type Root = keyof ServiceProperties

const ROOT_NAMES: Readonly<Record<Root, string>> = {
  logging: 'Logging',
  hourMetrics: 'HourMetrics',
  minuteMetrics: 'MinuteMetrics',
  cors: 'Cors',
  defaultServiceVersion: 'DefaultServiceVersion',
  deleteRetentionPolicy: 'DeleteRetentionPolicy',
  staticWebsite: 'StaticWebsite',
  isVersioningEnabled: 'IsVersioningEnabled',
  containerDeleteRetentionPolicy: 'ContainerDeleteRetentionPolicy',
  lastAccessTimeTrackingPolicy: 'LastAccessTimeTrackingPolicy',
  shareDeleteRetentionPolicy: 'ShareDeleteRetentionPolicy',
  protocolSettings: 'ProtocolSettings',
}

const LIMITS = { lengthMax: 64 * 1024, depthMax: 6, nodeCountMax: 200 }

export function decodeServiceProperties(
  service: StorageService,
  body: string | Uint8Array,
): ServicePropertiesUpdate {
  const root = parseXml(body, LIMITS)
  if (root.name !== 'StorageServiceProperties') throw invalidDocument()
  const roots = SERVICE_PROPERTY_ROOTS[service]
  checkChildren(
    root,
    roots.map((name) => ROOT_NAMES[name]),
  )
  let update: ServicePropertiesUpdate = {}
  for (const name of roots) {
    const node = xmlChild(root, ROOT_NAMES[name])
    if (node !== undefined) update = { ...update, ...DECODERS[name](node) }
  }
  return update
}

const DECODERS: Readonly<Record<Root, (node: XmlNode) => ServicePropertiesUpdate>> = {
  logging: (node) => ({ logging: decodeLogging(node) }),
  hourMetrics: (node) => ({ hourMetrics: decodeMetrics(node) }),
  minuteMetrics: (node) => ({ minuteMetrics: decodeMetrics(node) }),
  cors: (node) => ({ cors: decodeCors(node) }),
  defaultServiceVersion: (node) => ({ defaultServiceVersion: node.text.trim() }),
  deleteRetentionPolicy: (node) => ({ deleteRetentionPolicy: decodeDeleteRetention(node) }),
  staticWebsite: (node) => ({ staticWebsite: decodeStaticWebsite(node) }),
  isVersioningEnabled: (node) => ({ isVersioningEnabled: decodeBoolean(node) }),
  containerDeleteRetentionPolicy: (node) => ({
    containerDeleteRetentionPolicy: decodeRetention(node),
  }),
  lastAccessTimeTrackingPolicy: (node) => ({
    lastAccessTimeTrackingPolicy: { enabled: decodeBoolean(required(node, 'Enable')) },
  }),
  shareDeleteRetentionPolicy: (node) => ({ shareDeleteRetentionPolicy: decodeRetention(node) }),
  protocolSettings: (node) => ({ protocolSettings: decodeProtocolSettings(node) }),
}

function decodeLogging(node: XmlNode): Logging {
  checkChildren(node, ['Version', 'Delete', 'Read', 'Write', 'RetentionPolicy'])
  return {
    version: required(node, 'Version').text.trim(),
    delete: decodeBoolean(required(node, 'Delete')),
    read: decodeBoolean(required(node, 'Read')),
    write: decodeBoolean(required(node, 'Write')),
    retentionPolicy: decodeRetention(required(node, 'RetentionPolicy')),
  }
}

function decodeMetrics(node: XmlNode): MetricsSettings {
  checkChildren(node, ['Version', 'Enabled', 'IncludeAPIs', 'RetentionPolicy'])
  const includeApis = optionalBoolean(node, 'IncludeAPIs')
  return {
    version: required(node, 'Version').text.trim(),
    enabled: decodeBoolean(required(node, 'Enabled')),
    ...(includeApis === undefined ? {} : { includeApis }),
    retentionPolicy: decodeRetention(required(node, 'RetentionPolicy')),
  }
}

function decodeRetention(node: XmlNode): RetentionPolicy {
  checkChildren(node, ['Enabled', 'Days'])
  return decodeRetentionFields(node)
}

function decodeDeleteRetention(node: XmlNode): DeleteRetentionPolicy {
  checkChildren(node, ['Enabled', 'Days', 'AllowPermanentDelete'])
  const allowPermanentDelete = optionalBoolean(node, 'AllowPermanentDelete')
  return {
    ...decodeRetentionFields(node),
    ...(allowPermanentDelete === undefined ? {} : { allowPermanentDelete }),
  }
}

/** Days of a disabled policy are ignored and not stored. */
function decodeRetentionFields(node: XmlNode): RetentionPolicy {
  const enabled = decodeBoolean(required(node, 'Enabled'))
  const child = xmlChild(node, 'Days')
  if (!enabled || child === undefined) return { enabled }
  const days = decodeInteger(child)
  if (days < 1 || days > RETENTION_DAYS_MAX) throw invalidXml(node.end, DAYS_REASON)
  return { enabled, days }
}

const DAYS_REASON = `Retention days must be greater than 0 and less than or equal to ${RETENTION_DAYS_MAX} days.`

function decodeCors(node: XmlNode): readonly CorsRule[] {
  return node.children.map((rule) => {
    if (rule.name !== 'CorsRule') throw invalidDocument()
    checkChildren(rule, [
      'AllowedOrigins',
      'AllowedMethods',
      'AllowedHeaders',
      'ExposedHeaders',
      'MaxAgeInSeconds',
    ])
    return {
      allowedOrigins: decodeList(required(rule, 'AllowedOrigins')),
      allowedMethods: decodeList(required(rule, 'AllowedMethods')),
      allowedHeaders: decodeList(required(rule, 'AllowedHeaders')),
      exposedHeaders: decodeList(required(rule, 'ExposedHeaders')),
      maxAgeInSeconds: decodeInteger(required(rule, 'MaxAgeInSeconds')),
    }
  })
}

function decodeStaticWebsite(node: XmlNode): StaticWebsite {
  checkChildren(node, [
    'Enabled',
    'IndexDocument',
    'DefaultIndexDocumentPath',
    'ErrorDocument404Path',
  ])
  const indexDocument = optionalText(node, 'IndexDocument')
  const defaultIndexDocumentPath = optionalText(node, 'DefaultIndexDocumentPath')
  const errorDocument404Path = optionalText(node, 'ErrorDocument404Path')
  return {
    enabled: decodeBoolean(required(node, 'Enabled')),
    ...(indexDocument === undefined ? {} : { indexDocument }),
    ...(defaultIndexDocumentPath === undefined ? {} : { defaultIndexDocumentPath }),
    ...(errorDocument404Path === undefined ? {} : { errorDocument404Path }),
  }
}

function decodeProtocolSettings(node: XmlNode): ProtocolSettings {
  checkChildren(node, ['SMB', 'NFS'])
  const smb = xmlChild(node, 'SMB')
  const nfs = xmlChild(node, 'NFS')
  if (nfs !== undefined) checkChildren(nfs, ['EncryptionInTransit'])
  const required = nfs && decodeInner(nfs, 'EncryptionInTransit', 'Required')
  return {
    ...(smb === undefined ? {} : { smb: decodeSmb(smb) }),
    ...(nfs === undefined
      ? {}
      : { nfs: required === undefined ? {} : { encryptionInTransitRequired: required } }),
  }
}

const SMB_LISTS = [
  ['versions', 'Versions'],
  ['authenticationMethods', 'AuthenticationMethods'],
  ['kerberosTicketEncryption', 'KerberosTicketEncryption'],
  ['channelEncryption', 'ChannelEncryption'],
] as const

function decodeSmb(node: XmlNode): SmbSettings {
  const lists = SMB_LISTS.map(([, name]) => name)
  checkChildren(node, ['Multichannel', 'EncryptionInTransit', ...lists])
  const multichannelEnabled = decodeInner(node, 'Multichannel', 'Enabled')
  const encryptionInTransitRequired = decodeInner(node, 'EncryptionInTransit', 'Required')
  const settings: { -readonly [K in keyof SmbSettings]: SmbSettings[K] } = {}
  if (multichannelEnabled !== undefined) settings.multichannelEnabled = multichannelEnabled
  if (encryptionInTransitRequired !== undefined) {
    settings.encryptionInTransitRequired = encryptionInTransitRequired
  }
  for (const [field, name] of SMB_LISTS) {
    const text = optionalText(node, name)
    if (text !== undefined) settings[field] = text
  }
  return settings
}

/** `<outer><inner>true</inner></outer>` */
function decodeInner(node: XmlNode, outer: string, inner: string): boolean | undefined {
  const child = xmlChild(node, outer)
  if (child === undefined) return undefined
  checkChildren(child, [inner])
  return decodeBoolean(required(child, inner))
}

function required(node: XmlNode, name: string): XmlNode {
  const child = xmlChild(node, name)
  if (child === undefined) throw invalidDocument()
  return child
}

function optionalText(node: XmlNode, name: string): string | undefined {
  const text = xmlChild(node, name)?.text.trim()
  return text === '' ? undefined : text
}

function optionalBoolean(node: XmlNode, name: string): boolean | undefined {
  const child = xmlChild(node, name)
  return child === undefined ? undefined : decodeBoolean(child)
}

function decodeBoolean(node: XmlNode): boolean {
  const text = node.text.trim().toLowerCase()
  if (text === 'true') return true
  if (text === 'false') return false
  throw invalidDocument()
}

function decodeInteger(node: XmlNode): number {
  const text = node.text.trim()
  if (!/^\d{1,10}$/.test(text)) throw invalidDocument()
  return Number(text)
}

function decodeList(node: XmlNode): readonly string[] {
  const text = node.text.trim()
  return text === '' ? [] : text.split(',').map((item) => item.trim())
}

function checkChildren(node: XmlNode, names: readonly string[]): void {
  if (!node.children.every((child) => names.includes(child.name))) throw invalidDocument()
}

function invalidDocument(): StorageError {
  return new StorageError('InvalidXmlDocument')
}

export function encodeServiceProperties(
  service: StorageService,
  properties: ServiceProperties,
): string {
  const inner = SERVICE_PROPERTY_ROOTS[service].map((root) => ENCODERS[root](properties)).join('')
  return `${XML_DECLARATION}<StorageServiceProperties>${inner}</StorageServiceProperties>`
}

const ENCODERS: Readonly<Record<Root, (properties: ServiceProperties) => string>> = {
  logging: ({ logging }) => encodeLogging(logging),
  hourMetrics: ({ hourMetrics }) => encodeMetrics('HourMetrics', hourMetrics),
  minuteMetrics: ({ minuteMetrics }) => encodeMetrics('MinuteMetrics', minuteMetrics),
  cors: ({ cors }) =>
    cors.length === 0 ? '<Cors />' : `<Cors>${cors.map(encodeRule).join('')}</Cors>`,
  defaultServiceVersion: ({ defaultServiceVersion }) =>
    xmlOptional('DefaultServiceVersion', defaultServiceVersion),
  deleteRetentionPolicy: ({ deleteRetentionPolicy: policy }) =>
    encodeRetention('DeleteRetentionPolicy', { allowPermanentDelete: false, ...policy }),
  staticWebsite: ({ staticWebsite }) => encodeStaticWebsite(staticWebsite),
  // No client library knows the next three, so they are encoded only when enabled.
  isVersioningEnabled: ({ isVersioningEnabled }) =>
    isVersioningEnabled ? '<IsVersioningEnabled>true</IsVersioningEnabled>' : '',
  containerDeleteRetentionPolicy: ({ containerDeleteRetentionPolicy: policy }) =>
    policy.enabled ? encodeRetention('ContainerDeleteRetentionPolicy', policy) : '',
  lastAccessTimeTrackingPolicy: ({ lastAccessTimeTrackingPolicy: { enabled } }) =>
    enabled
      ? '<LastAccessTimeTrackingPolicy><Enable>true</Enable></LastAccessTimeTrackingPolicy>'
      : '',
  shareDeleteRetentionPolicy: ({ shareDeleteRetentionPolicy }) =>
    encodeRetention('ShareDeleteRetentionPolicy', shareDeleteRetentionPolicy),
  protocolSettings: ({ protocolSettings }) => encodeProtocolSettings(protocolSettings),
}

function encodeLogging(logging: Logging): string {
  return (
    `<Logging>${xmlElement('Version', logging.version)}<Read>${logging.read}</Read>` +
    `<Write>${logging.write}</Write><Delete>${logging.delete}</Delete>` +
    `${encodeRetention('RetentionPolicy', logging.retentionPolicy)}</Logging>`
  )
}

function encodeMetrics(name: string, metrics: MetricsSettings): string {
  return (
    `<${name}>${xmlElement('Version', metrics.version)}<Enabled>${metrics.enabled}</Enabled>` +
    xmlOptional('IncludeAPIs', metrics.includeApis) +
    `${encodeRetention('RetentionPolicy', metrics.retentionPolicy)}</${name}>`
  )
}

function encodeRetention(name: string, policy: DeleteRetentionPolicy): string {
  return (
    `<${name}><Enabled>${policy.enabled}</Enabled>${xmlOptional('Days', policy.days)}` +
    `${xmlOptional('AllowPermanentDelete', policy.allowPermanentDelete)}</${name}>`
  )
}

function encodeRule(rule: CorsRule): string {
  return (
    `<CorsRule>${xmlElement('AllowedMethods', rule.allowedMethods.join(','))}` +
    xmlElement('AllowedOrigins', rule.allowedOrigins.join(',')) +
    xmlElement('AllowedHeaders', literalsFirst(rule.allowedHeaders).join(',')) +
    xmlElement('ExposedHeaders', literalsFirst(rule.exposedHeaders).join(',')) +
    `<MaxAgeInSeconds>${rule.maxAgeInSeconds}</MaxAgeInSeconds></CorsRule>`
  )
}

/** The service lists prefixes (`x-ms-meta-*`) after full names. */
function literalsFirst(headers: readonly string[]): readonly string[] {
  const isPrefix = (header: string) => header.endsWith('*')
  return [...headers.filter((header) => !isPrefix(header)), ...headers.filter(isPrefix)]
}

function encodeStaticWebsite(website: StaticWebsite): string {
  return (
    `<StaticWebsite><Enabled>${website.enabled}</Enabled>` +
    xmlOptional('IndexDocument', website.indexDocument) +
    xmlOptional('DefaultIndexDocumentPath', website.defaultIndexDocumentPath) +
    `${xmlOptional('ErrorDocument404Path', website.errorDocument404Path)}</StaticWebsite>`
  )
}

function encodeProtocolSettings({ smb, nfs }: ProtocolSettings): string {
  const encryption = (required: boolean | undefined) =>
    required === undefined
      ? ''
      : `<EncryptionInTransit><Required>${required}</Required></EncryptionInTransit>`
  let inner = ''
  if (smb !== undefined) {
    const { multichannelEnabled } = smb
    inner += '<SMB>'
    if (multichannelEnabled !== undefined) {
      inner += `<Multichannel><Enabled>${multichannelEnabled}</Enabled></Multichannel>`
    }
    inner += encryption(smb.encryptionInTransitRequired)
    for (const [field, name] of SMB_LISTS) inner += xmlOptional(name, smb[field])
    inner += '</SMB>'
  }
  if (nfs !== undefined) inner += `<NFS>${encryption(nfs.encryptionInTransitRequired)}</NFS>`
  return `<ProtocolSettings>${inner}</ProtocolSettings>`
}
