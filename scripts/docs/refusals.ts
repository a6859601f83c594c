// What Lazuli refuses although Azure may have it, for docs/rest-api.md. Each row has a request that shows it, which
// test/refusals.test.ts sends.
export type RefusedService = 'blob' | 'table' | 'file' | 'lake'

export type Refusal = {
  readonly service: RefusedService
  /** Names of operations; none if it applies to all. */
  readonly operations: readonly string[]
  /** Markdown. */
  readonly what: string
  /** To the account with a hierarchical namespace, instead of the flat one. */
  readonly toLake?: true
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Status and code. */
  readonly answer: string
}

const BLOCK_BLOB = { 'x-ms-blob-type': 'BlockBlob' }
const ELSEWHERE = { 'x-ms-copy-source': 'https://other.example/a' }
const FROM_URL = { ...ELSEWHERE, ...BLOCK_BLOB }
const FILE_PROPERTIES = { method: 'PUT', path: '/?restype=service&comp=properties' }
const QUERY = { method: 'POST', path: '/box/blob?comp=query' }
const NEEDS_NAMESPACE = '400 HierarchicalNamespaceNotEnabled'
const COPIES = [
  'Copy Blob',
  'Copy Blob From URL',
  'Put Blob From URL',
  'Put Block From URL',
  'Put Page From URL',
  'Append Block From URL',
]

function protocolSettings(smb: string): string {
  return `<StorageServiceProperties><ProtocolSettings><SMB>${smb}</SMB></ProtocolSettings></StorageServiceProperties>`
}

function query(input: string, output: string): string {
  const format = (type: string): string => `<Format><Type>${type}</Type></Format>`
  return (
    '<QueryRequest><QueryType>SQL</QueryType><Expression>SELECT * FROM BlobStorage</Expression>' +
    `<InputSerialization>${format(input)}</InputSerialization>` +
    `<OutputSerialization>${format(output)}</OutputSerialization></QueryRequest>`
  )
}

function createShare(what: string, name: string, value: string): Refusal {
  const operations = ['Create Share', 'Set Share Properties']
  const request = { method: 'PUT', path: '/other?restype=share', headers: { [name]: value } }
  return { service: 'file', operations, what, ...request, answer: '400 UnsupportedHeader' }
}

function fileSetting(what: string, smb: string): Refusal {
  const operations = ['Set Service Properties']
  const request = { ...FILE_PROPERTIES, body: protocolSettings(smb) }
  return { service: 'file', operations, what, ...request, answer: '400 UnsupportedXmlNode' }
}

/** Operations of Data Lake Storage on an account without a hierarchical namespace, as in Azure. */
function onFlat(operation: string, method: string, path: string, headers = {}): Refusal {
  const request = { method, path, headers, answer: NEEDS_NAMESPACE }
  return { service: 'lake', operations: [operation], what: 'flat accounts', ...request }
}

function onDirectory(operation: string, comp: string, more: Partial<Refusal> = {}): Refusal {
  const request = { method: 'PUT', path: `/box/directory?comp=${comp}`, ...more }
  const answer = '409 BlobOperationNotSupported'
  return {
    service: 'blob',
    operations: [operation],
    what: 'directories, as in Azure',
    toLake: true,
    ...request,
    answer,
  }
}

function inNamespace(operation: string, comp: string, headers: Refusal['headers'] = {}): Refusal {
  const what = 'accounts with a hierarchical namespace, as in Azure'
  const path = `/box/blob?comp=${comp}`
  return { ...onDirectory(operation, comp, { headers }), what, path }
}

export const REFUSALS: readonly Refusal[] = [
  ...['x-ms-acl', 'x-ms-owner', 'x-ms-group', 'x-ms-encryption-context'].map((name): Refusal => ({
    service: 'blob', operations: [], what: 'the headers `x-ms-acl`, `x-ms-owner`, `x-ms-group` and `x-ms-encryption-context`, which belong to Data Lake Storage',
    method: 'PUT', path: '/box/blob', headers: { ...BLOCK_BLOB, [name]: 'x' }, body: 'x', answer: '400 UnsupportedHeader' })),
  { service: 'blob', operations: [], what: 'a customer-provided key over HTTP (it is accepted over HTTPS)',
    method: 'PUT', path: '/box/blob', headers: { ...BLOCK_BLOB, 'x-ms-encryption-key': 'QUJD' }, body: 'x', answer: '400 UnsupportedHeader' },
  { service: 'blob', operations: COPIES, what: 'sources on servers that `--allowCopyFrom` does not name',
    method: 'PUT', path: '/box/new', headers: FROM_URL, answer: '403 CannotVerifyCopySource' },
  { service: 'blob', operations: ['Copy Blob'], what: '`x-ms-copy-source-authorization` for another server, because it would have to be stored; Copy Blob From URL accepts it',
    method: 'PUT', path: '/box/new', headers: { 'x-ms-copy-source': 'http://localhost:1/a', 'x-ms-copy-source-authorization': 'Bearer x' }, answer: '400 UnsupportedHeader' },
  { service: 'blob', operations: ['Query Blob Contents'], what: 'Parquet', ...QUERY, body: query('parquet', 'delimited'), answer: '400 InvalidXmlNodeValue' },
  { service: 'blob', operations: ['Query Blob Contents'], what: 'Arrow', ...QUERY, body: query('delimited', 'arrow'), answer: '400 InvalidXmlNodeValue' },
  { service: 'blob', operations: ['Put Page Blob'], what: 'accounts with a hierarchical namespace, as in Azure', toLake: true,
    method: 'PUT', path: '/box/page', headers: { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '512' }, answer: '409 BlobOperationNotSupported' },
  { service: 'blob', operations: ['Put Block'], what: 'a file that was created over Data Lake Storage, as in Azure', toLake: true,
    method: 'PUT', path: '/box/file?comp=block&blockid=QUJD', body: 'x', answer: '409 BlobOperationNotSupported' },
  onDirectory('Snapshot Blob', 'snapshot'),
  onDirectory('Set Blob Tier', 'tier', { headers: { 'x-ms-access-tier': 'Cool' } }),
  inNamespace('Set Blob Legal Hold', 'legalhold', { 'x-ms-legal-hold': 'true' }),
  inNamespace('Set Blob Immutability Policy', 'immutabilityPolicies', {
    'x-ms-immutability-policy-until-date': 'Tue, 01 Jan 2999 00:00:00 GMT', 'x-ms-immutability-policy-mode': 'Unlocked' }),
  { service: 'lake', operations: ['Set Path Expiry'], what: 'directories', toLake: true, method: 'PUT', path: '/box/directory?comp=expiry',
    headers: { 'x-ms-expiry-option': 'NeverExpire' }, answer: '400 ExpiryNotSupportedForDirectory' },
  { service: 'lake', operations: ['Rename Path'], what: 'headers of new paths, such as `x-ms-permissions`', toLake: true, method: 'PUT',
    path: '/box/renamed', headers: { 'x-ms-rename-source': '/box/blob', 'x-ms-permissions': '0777' }, answer: '400 UnsupportedHeader' },
  { service: 'lake', operations: ['Append Data'], what: 'what the Blob service wrote, as in Azure', toLake: true, method: 'PATCH',
    path: '/box/blob?action=append&position=4', body: 'x', answer: '409 InvalidAppendOperation' },
  { service: 'table', operations: [], what: 'Atom, in every version of the API; Azure does so since 2015-12-11', method: 'GET', path: '/Things()',
    headers: { accept: 'application/atom+xml', 'x-ms-version': '2013-08-15' }, answer: '415 AtomFormatNotSupported' },
  { service: 'table', operations: [], what: '`$metadata`', method: 'GET', path: '/$metadata', answer: '501 NotImplemented' },
  { service: 'table', operations: ['Query Entities', 'Query Tables'], what: '`$orderby`, `$skip`, `$expand` and `$count`, as in Azure',
    method: 'GET', path: '/Things()?$orderby=RowKey', answer: '501 NotImplemented' },
  createShare('paid bursting', 'x-ms-share-paid-bursting-enabled', 'true'),
  createShare('provisioned IOPS', 'x-ms-share-provisioned-iops', '500'),
  createShare('provisioned bandwidth', 'x-ms-share-provisioned-bandwidth-mibps', '100'),
  createShare('SMB directory leases', 'x-ms-enable-smb-directory-lease', 'true'),
  fileSetting('Multichannel', '<Multichannel><Enabled>true</Enabled></Multichannel>'),
  fileSetting('Kerberos', '<AuthenticationMethods>NTLMv2;Kerberos</AuthenticationMethods>'),
  fileSetting('required encryption (use `--smbEncryption`)', '<EncryptionInTransit><Required>true</Required></EncryptionInTransit>'),
  { service: 'file', operations: ['Copy File', 'Put Range from URL'], what: 'sources on servers that `--allowCopyFrom` does not name',
    method: 'PUT', path: '/box/new', headers: ELSEWHERE, answer: '403 CannotVerifyCopySource' },
  { service: 'file', operations: ['Clear Range'], what: 'hashes of a body, which it does not have', method: 'PUT', path: '/box/file?comp=range',
    headers: { 'x-ms-write': 'clear', 'x-ms-range': 'bytes=0-511', 'content-md5': 'QUJD' }, answer: '400 UnsupportedHeader' },
  onFlat('Get Access Control', 'GET', '/box/blob?action=getAccessControl'),
  onFlat('Check Access', 'GET', '/box/blob?action=checkAccess&fsAction=rwx'),
  onFlat('Set Access Control', 'PATCH', '/box/blob?action=setAccessControl'),
  onFlat('Set Access Control Recursive', 'PATCH', '/box/blob?action=setAccessControlRecursive&mode=set'),
  onFlat('Undelete Path', 'PUT', '/box/blob?comp=undelete', { 'x-ms-undelete-source': '?deletionid=1' }),
  { ...onFlat('Create Path', 'PUT', '/box/new?resource=file', { 'x-ms-permissions': '0777' }), what: 'permissions, owners and lists on flat accounts' },
] // prettier-ignore
