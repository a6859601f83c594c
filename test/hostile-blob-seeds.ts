// A scenario of valid requests for every operation of the Blob service, to be mutated.
import { BLOCK_BLOB } from './blob/fixture.ts'
import { crc64, structuredMessage } from './hostile-bodies.ts'
import type { Headers, Seed } from './hostile-seed.ts'

const LEASE = '6c1f4b1c-0b0e-4c39-8d6c-7c8f7a2f7d3e'
const OTHER_LEASE = 'a3a5ac5c-1c4f-4b8c-9b5e-0c6d2f9f1e11'
const PAGE = { 'x-ms-range': 'bytes=0-511' }
const CONDITIONS = {
  'if-match': '*',
  'if-none-match': '"0x1"',
  'if-modified-since': 'Sun, 15 Nov 2020 00:00:00 GMT',
  'if-unmodified-since': 'Sun, 15 Nov 2099 00:00:00 GMT',
}
const UPDATE = { 'if-match': '*' }
/** Free text that the service stores and sends back in headers and lists. */
const TEXTS = {
  'x-ms-blob-content-type': 'text/plain',
  'x-ms-blob-content-disposition': 'inline',
  'x-ms-blob-content-language': 'de',
  'x-ms-blob-content-encoding': 'identity',
  'x-ms-blob-cache-control': 'no-cache',
}
const STRUCTURED = { 'x-ms-structured-body': 'XSM/1.0; properties=crc64' }
const source = (path: string): Headers => ({ 'x-ms-copy-source': `{blob}/{account}${path}` })
const CSV = Array.from(
  { length: 900 },
  (_, i) => `${i},name ${i},"a, ""b""",2026-01-0${(i % 9) + 1}\n`,
)
const CSV_CRC64 = crc64(Buffer.from(CSV.join(''))).toString('base64')
const LINES = '{"a":1,"b":{"c":[1,"x"]}}\n{"a":null,"b":"text"}\n'
const BLOCKS = ['YWFhYQ==', 'YmJiYg==', 'Y2NjYw==']

const element = (name: string, ...inner: string[]): string => `<${name}>${inner.join('')}</${name}>`
const days = element('Enabled', 'true') + element('Days', '3')
const logging = (isOn: boolean) =>
  element('Logging', '<Version>2.0</Version>', element('Delete', String(isOn)), element('Read', 'false'),
    element('Write', String(isOn)), element('RetentionPolicy', days)) // prettier-ignore
const METRICS = '<Version>1.0</Version><Enabled>false</Enabled>'
const cors =
  '<AllowedMethods>GET,PUT</AllowedMethods><AllowedOrigins>https://a.example,*</AllowedOrigins>' +
  '<AllowedHeaders>x-ms-meta-*</AllowedHeaders><ExposedHeaders>x-ms-*</ExposedHeaders><MaxAgeInSeconds>60</MaxAgeInSeconds>'

/** All properties, to undo what a mutated request has set. */
function properties(isVersioned: boolean): string {
  return element(
    'StorageServiceProperties',
    logging(!isVersioned),
    element('HourMetrics', METRICS, element('RetentionPolicy', days)),
    element('Cors', element('CorsRule', cors)),
    '<DefaultServiceVersion>2021-12-02</DefaultServiceVersion>',
    element('DeleteRetentionPolicy', days, '<AllowPermanentDelete>true</AllowPermanentDelete>'),
    element('StaticWebsite', '<Enabled>true</Enabled><IndexDocument>index.html</IndexDocument>'),
    element('IsVersioningEnabled', String(isVersioned)),
    element('ContainerDeleteRetentionPolicy', days),
    element('LastAccessTimeTrackingPolicy', '<Enable>true</Enable>'),
  )
}

const IDENTIFIERS =
  '<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Start>2026-01-01T00:00:00Z</Start>' +
  '<Expiry>2099-01-01</Expiry><Permission>rl</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>'
const TAGS =
  '<Tags><TagSet><Tag><Key>one</Key><Value>1</Value></Tag><Tag><Key>two</Key><Value>b c</Value></Tag></TagSet></Tags>'
const KEY_INFO = '<KeyInfo><Start>{soon}</Start><Expiry>{later}</Expiry></KeyInfo>'
const blockList = (kind: string) => element('BlockList', ...BLOCKS.map((id) => element(kind, id)))
const WHERE = encodeURIComponent(`"one" >= '0' AND "one" < '9'`)
const WHERE_IN = `${encodeURIComponent('@container=')}'{box}'${encodeURIComponent(` AND "one"='1'`)}`

function query(sql: string, input: string, output = ''): string {
  return element(
    'QueryRequest',
    '<QueryType>SQL</QueryType>',
    element('Expression', sql),
    input,
    output,
  )
}
const format = (side: string, type: string, inner: string) =>
  element(`${side}Serialization`, element('Format', element('Type', type), inner))
const DELIMITED =
  '<DelimitedTextConfiguration><ColumnSeparator>,</ColumnSeparator><FieldQuote>"</FieldQuote>' +
  '<RecordSeparator>\n</RecordSeparator><EscapeChar></EscapeChar><HasHeaders>false</HasHeaders></DelimitedTextConfiguration>'
const JSON_TEXT =
  '<JsonTextConfiguration><RecordSeparator>\n</RecordSeparator></JsonTextConfiguration>'
const SQL =
  'SELECT _1, CAST(_1 AS INT) * 2 + 1, UPPER(_2), SUBSTRING(_3, 1, 2) FROM BlobStorage s ' +
  "WHERE CAST(_1 AS INT) BETWEEN 3 AND 50 AND _2 LIKE 'n%e _' AND NOT (_3 IS NULL OR _1 IN ('4', '5')) LIMIT 7"
const TIME_SQL = 'SELECT AVG(CAST(_1 AS FLOAT)) FROM BlobStorage WHERE TO_TIMESTAMP(_4) < UTCNOW()'

const BOUNDARY = 'batch_357de4f7'
function batch(...lines: string[]): string {
  const parts = lines.map(
    (line, id) =>
      `--${BOUNDARY}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\nContent-ID: ${id}\r\n\r\n` +
      `${line}\r\nContent-Length: 0\r\n\r\n\r\n`,
  )
  return `${parts.join('')}--${BOUNDARY}--\r\n`
}
const MULTIPART = { 'content-type': `multipart/mixed; boundary=${BOUNDARY}` }
const lease = (action: string, more: Headers = {}): Headers => ({
  'x-ms-lease-action': action,
  ...more,
})
const IF_TAGS = { 'x-ms-if-tags': `"one" = '1'` }
const MUST: Headers = { ...UPDATE, ...IF_TAGS }

// prettier-ignore
export const BLOB_SEEDS: readonly Seed[] = [
  { operation: 'Set Service Properties', status: 202, method: 'PUT', path: '/?restype=service&comp=properties', body: properties(false) },
  { operation: 'Get Service Properties', status: 200, method: 'GET', path: '/?restype=service&comp=properties&timeout=20' },
  { operation: 'Get Service Stats', status: 200, method: 'GET', path: '/?restype=service&comp=stats', secondary: true },
  { operation: 'Get User Delegation Key', status: 200, method: 'POST', path: '/?restype=service&comp=userdelegationkey', body: KEY_INFO, as: 'token' },
  { operation: 'Get Account Information', status: 200, method: 'GET', path: '/?restype=account&comp=properties' },

  { operation: 'Create Container', status: 201, method: 'PUT', path: '/{box}?restype=container', headers: { 'x-ms-meta-one': '1', 'x-ms-blob-public-access': 'blob', 'x-ms-default-encryption-scope': 'scope', 'x-ms-deny-encryption-scope-override': 'false' } },
  { operation: 'Get Account Information', status: 200, method: 'HEAD', path: '/{box}?restype=account&comp=properties' },
  { operation: 'Get Container Properties', status: 200, method: 'HEAD', path: '/{box}?restype=container' },
  { operation: 'Set Container Metadata', status: 200, method: 'PUT', path: '/{box}?restype=container&comp=metadata', headers: { 'x-ms-meta-two': '2', 'if-modified-since': 'Sun, 15 Nov 2020 00:00:00 GMT' } },
  { operation: 'Get Container Metadata', status: 200, method: 'GET', path: '/{box}?restype=container&comp=metadata' },
  { operation: 'Set Container ACL', status: 200, method: 'PUT', path: '/{box}?restype=container&comp=acl', headers: { 'x-ms-blob-public-access': 'container' }, body: IDENTIFIERS },
  { operation: 'Get Container ACL', status: 200, method: 'GET', path: '/{box}?restype=container&comp=acl' },
  { operation: 'Lease Container', status: 201, method: 'PUT', path: '/{box}?restype=container&comp=lease', headers: lease('acquire', { 'x-ms-lease-duration': '15', 'x-ms-proposed-lease-id': LEASE }) },
  { operation: 'Lease Container', status: 200, method: 'PUT', path: '/{box}?restype=container&comp=lease', headers: lease('change', { 'x-ms-lease-id': LEASE, 'x-ms-proposed-lease-id': OTHER_LEASE }) },
  { operation: 'Lease Container', status: 200, method: 'PUT', path: '/{box}?restype=container&comp=lease', headers: lease('renew', { 'x-ms-lease-id': OTHER_LEASE }) },
  { operation: 'Lease Container', status: 202, method: 'PUT', path: '/{box}?restype=container&comp=lease', headers: lease('break', { 'x-ms-lease-break-period': '0' }) },
  { operation: 'Lease Container', status: 200, method: 'PUT', path: '/{box}?restype=container&comp=lease', headers: lease('release', { 'x-ms-lease-id': OTHER_LEASE }) },
  { operation: 'Rename Container', status: 200, method: 'PUT', path: '/{box}-new?restype=container&comp=rename', headers: { 'x-ms-source-container-name': '{box}' } },
  { operation: 'Rename Container', status: 200, method: 'PUT', path: '/{box}?restype=container&comp=rename', headers: { 'x-ms-source-container-name': '{box}-new' } },

  { operation: 'Put Blob', status: 201, method: 'PUT', path: '/{box}/block', headers: { ...BLOCK_BLOB, 'content-type': 'text/plain; charset=utf-8', 'content-md5': 'XUFAKrxLKna5cZ2REBfFkg==', 'x-ms-blob-content-disposition': 'attachment; filename="a"', 'x-ms-blob-cache-control': 'no-cache', 'x-ms-meta-one': '1', 'x-ms-tags': 'one=1&two=b%20c', 'x-ms-access-tier': 'Cool', 'if-none-match': '"0x1"' }, body: 'hello' },
  { operation: 'Put Blob', status: 201, method: 'PUT', path: '/{box}/big%20%C3%BC/x.csv', headers: { ...BLOCK_BLOB, 'x-ms-content-crc64': CSV_CRC64 }, body: CSV.join('') },
  { operation: 'Put Blob', status: 201, method: 'PUT', path: '/{box}/lines.json', headers: { ...BLOCK_BLOB, 'if-none-match': '*' }, body: LINES },
  { operation: 'Put Blob', status: 201, method: 'PUT', path: '/{box}/structured', headers: { ...BLOCK_BLOB, ...STRUCTURED, 'x-ms-structured-content-length': '5000' }, body: structuredMessage(5_000, 2_000) },
  { operation: 'Put Blob', status: 201, method: 'PUT', path: '/{box}/of-sas', headers: { ...BLOCK_BLOB, 'x-ms-encryption-scope': 'scope' }, body: 'x'.repeat(9_000), as: 'sas' },
  { operation: 'Put Blob', status: 201, method: 'PUT', path: '/{box}/texts', headers: { ...BLOCK_BLOB, ...TEXTS, 'x-ms-meta-one': 'a' }, body: 'text' },
  { operation: 'Set Blob Properties', status: 200, method: 'PUT', path: '/{box}/texts?comp=properties', headers: TEXTS },
  { operation: 'Get Blob', status: 200, method: 'GET', path: '/{box}/texts' },
  { operation: 'Get Account Information', status: 200, method: 'GET', path: '/{box}/block?restype=account&comp=properties' },
  { operation: 'Get Blob', status: 206, method: 'GET', path: '/{box}/block', headers: { range: 'bytes=1-3', 'x-ms-range-get-content-md5': 'true', ...CONDITIONS, ...IF_TAGS, origin: 'https://a.example' } },
  { operation: 'Get Blob', status: 206, method: 'GET', path: '/{box}/structured', headers: { 'x-ms-range': 'bytes=100-4000', ...STRUCTURED } },
  { operation: 'Get Blob', status: 200, method: 'GET', path: '/{box}/big%20%C3%BC/x.csv', as: 'sas' },
  { operation: 'Get Blob Properties', status: 200, method: 'HEAD', path: '/{box}/block?timeout=5', as: 'anybody' },
  { operation: 'Set Blob Metadata', status: 200, method: 'PUT', path: '/{box}/block?comp=metadata', headers: { 'x-ms-meta-two': 'zwei', 'x-ms-meta-three': '', ...MUST } },
  { operation: 'Get Blob Metadata', status: 200, method: 'GET', path: '/{box}/block?comp=metadata' },
  { operation: 'Set Blob Properties', status: 200, method: 'PUT', path: '/{box}/block?comp=properties', headers: { 'x-ms-blob-content-type': 'text/html', 'x-ms-blob-content-language': 'de', 'x-ms-blob-content-encoding': 'gzip', 'x-ms-blob-content-md5': 'XUFAKrxLKna5cZ2REBfFkg==' } },
  { operation: 'Set Blob Tags', status: 204, method: 'PUT', path: '/{box}/block?comp=tags', body: TAGS, headers: { 'x-ms-if-tags': `"one"='1'` } },
  { operation: 'Get Blob Tags', status: 200, method: 'GET', path: '/{box}/block?comp=tags' },
  { operation: 'Find Blobs by Tags', status: 200, method: 'GET', path: `/?comp=blobs&where=${WHERE_IN}&maxresults=5` },
  { operation: 'Find Blobs by Tags in Container', status: 200, method: 'GET', path: `/{box}?restype=container&comp=blobs&where=${WHERE}&include=versions` },
  { operation: 'Set Blob Tier', status: 200, method: 'PUT', path: '/{box}/block?comp=tier', headers: { 'x-ms-access-tier': 'Hot', 'x-ms-rehydrate-priority': 'High' } },
  { operation: 'Query Blob Contents', status: 200, method: 'POST', path: '/{box}/big%20%C3%BC/x.csv?comp=query', body: query(SQL.replaceAll('<', '&lt;'), format('Input', 'delimited', DELIMITED), format('Output', 'json', JSON_TEXT)) },
  { operation: 'Query Blob Contents', status: 200, method: 'POST', path: '/{box}/big%20%C3%BC/x.csv?comp=query', body: query(TIME_SQL.replaceAll('<', '&lt;'), format('Input', 'delimited', DELIMITED)) },
  { operation: 'Query Blob Contents', status: 200, method: 'POST', path: '/{box}/lines.json?comp=query', body: query('SELECT a, b.c[0] FROM BlobStorage WHERE a IS NOT NULL', format('Input', 'json', JSON_TEXT), format('Output', 'delimited', DELIMITED)) },
  { operation: 'Lease Blob', status: 201, method: 'PUT', path: '/{box}/block?comp=lease', headers: lease('acquire', { 'x-ms-lease-duration': '-1', 'x-ms-proposed-lease-id': LEASE, ...MUST }) },
  { operation: 'Lease Blob', status: 200, method: 'PUT', path: '/{box}/block?comp=lease', headers: lease('renew', { 'x-ms-lease-id': LEASE }) },
  { operation: 'Lease Blob', status: 200, method: 'PUT', path: '/{box}/block?comp=lease', headers: lease('change', { 'x-ms-lease-id': LEASE, 'x-ms-proposed-lease-id': OTHER_LEASE }) },
  { operation: 'Get Blob', status: 200, method: 'GET', path: '/{box}/block', headers: { 'x-ms-lease-id': OTHER_LEASE } },
  { operation: 'Lease Blob', status: 202, method: 'PUT', path: '/{box}/block?comp=lease', headers: lease('break', { 'x-ms-lease-break-period': '0' }) },
  { operation: 'Lease Blob', status: 200, method: 'PUT', path: '/{box}/block?comp=lease', headers: lease('release', { 'x-ms-lease-id': OTHER_LEASE }) },
  { operation: 'Snapshot Blob', status: 201, method: 'PUT', path: '/{box}/block?comp=snapshot', headers: { 'x-ms-meta-of': 'snapshot', ...UPDATE }, keep: { snapshot: 'x-ms-snapshot' } },
  { operation: 'Get Blob', status: 200, method: 'GET', path: '/{box}/block?snapshot={snapshot}' },
  { operation: 'List Blobs', status: 200, method: 'GET', path: '/{box}?restype=container&comp=list&maxresults=2&include=metadata,snapshots,deleted,tags,uncommittedblobs,copy,versions', keep: { marker: '<NextMarker>' } },
  { operation: 'List Blobs', status: 200, method: 'GET', path: '/{box}?restype=container&comp=list&prefix=b&delimiter=%2F&marker={marker}&include=metadata' },
  { operation: 'List Containers', status: 200, method: 'GET', path: '/?comp=list&maxresults=1&include=metadata,deleted,system', keep: { containers: '<NextMarker>' } },
  { operation: 'List Containers', status: 200, method: 'GET', path: '/?comp=list&marker={containers}' },

  { operation: 'Put Block', status: 201, method: 'PUT', path: '/{box}/blocks?comp=block&blockid=YWFhYQ%3D%3D', headers: { 'content-md5': 'XUFAKrxLKna5cZ2REBfFkg==' }, body: 'hello' },
  { operation: 'Put Block', status: 201, method: 'PUT', path: '/{box}/blocks?comp=block&blockid=YmJiYg%3D%3D', headers: { ...STRUCTURED, 'x-ms-structured-content-length': '700' }, body: structuredMessage(700, 300) },
  { operation: 'Put Block From URL', status: 201, method: 'PUT', path: '/{box}/blocks?comp=block&blockid=Y2NjYw%3D%3D', headers: { ...source('/{box}/big%20%C3%BC/x.csv'), 'x-ms-source-range': 'bytes=10-9000', 'x-ms-source-if-match': '*' } },
  { operation: 'Get Block List', status: 200, method: 'GET', path: '/{box}/blocks?comp=blocklist&blocklisttype=all' },
  { operation: 'Put Block List', status: 201, method: 'PUT', path: '/{box}/blocks?comp=blocklist', headers: { 'x-ms-blob-content-type': 'a/b', 'x-ms-meta-a': 'b', 'x-ms-tags': 'one=1' }, body: blockList('Latest') },
  { operation: 'Put Block', status: 201, method: 'PUT', path: '/{box}/blocks?comp=block&blockid=YWFhYQ%3D%3D', body: 'y'.repeat(6_000) },
  { operation: 'Put Block List', status: 201, method: 'PUT', path: '/{box}/blocks?comp=blocklist', body: '<BlockList><Uncommitted>YWFhYQ==</Uncommitted><Committed>YmJiYg==</Committed></BlockList>' },
  { operation: 'Put Block', status: 201, method: 'PUT', path: '/{box}/left-behind?comp=block&blockid=YWFhYQ%3D%3D', body: 'z'.repeat(6_000) },
  { operation: 'Get Block List', status: 200, method: 'GET', path: '/{box}/blocks?comp=blocklist&blocklisttype=committed' },

  { operation: 'Put Append Blob', status: 201, method: 'PUT', path: '/{box}/append', headers: { 'x-ms-blob-type': 'AppendBlob', 'x-ms-meta-a': 'b' } },
  { operation: 'Append Block', status: 201, method: 'PUT', path: '/{box}/append?comp=appendblock', headers: { 'x-ms-blob-condition-appendpos': '0', 'x-ms-blob-condition-maxsize': '1000', ...UPDATE }, body: 'hello' },
  { operation: 'Append Block From URL', status: 201, method: 'PUT', path: '/{box}/append?comp=appendblock', headers: { ...source('/{box}/structured'), 'x-ms-source-range': 'bytes=0-4999' } },
  { operation: 'Seal Append Blob', status: 200, method: 'PUT', path: '/{box}/append?comp=seal', headers: { 'x-ms-blob-condition-appendpos': '5005' } },

  { operation: 'Put Page Blob', status: 201, method: 'PUT', path: '/{box}/page', headers: { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '8192', 'x-ms-blob-sequence-number': '7' } },
  { operation: 'Put Page', status: 201, method: 'PUT', path: '/{box}/page?comp=page', headers: { 'x-ms-range': 'bytes=512-1535', 'x-ms-page-write': 'update', 'x-ms-if-sequence-number-le': '7' }, body: 'p'.repeat(1_024) },
  { operation: 'Put Page', status: 201, method: 'PUT', path: '/{box}/page?comp=page', headers: { ...PAGE, ...STRUCTURED, 'x-ms-page-write': 'update', 'x-ms-structured-content-length': '512' }, body: structuredMessage(512, 512) },
  { operation: 'Snapshot Blob', status: 201, method: 'PUT', path: '/{box}/page?comp=snapshot', keep: { pages: 'x-ms-snapshot' } },
  { operation: 'Put Page From URL', status: 201, method: 'PUT', path: '/{box}/page?comp=page', headers: { ...source('/{box}/structured'), 'x-ms-page-write': 'update', 'x-ms-range': 'bytes=1024-5119', 'x-ms-source-range': 'bytes=0-4095', 'x-ms-if-sequence-number-eq': '7' } },
  { operation: 'Clear Pages', status: 201, method: 'PUT', path: '/{box}/page?comp=page', headers: { ...PAGE, 'x-ms-page-write': 'clear', 'x-ms-if-sequence-number-lt': '8' } },
  { operation: 'Get Page Ranges', status: 200, method: 'GET', path: '/{box}/page?comp=pagelist&maxresults=1', headers: { 'x-ms-range': 'bytes=0-8191' }, keep: { ranges: '<NextMarker>' } },
  { operation: 'Get Page Ranges', status: 200, method: 'GET', path: '/{box}/page?comp=pagelist&snapshot={pages}&maxresults=10' },
  { operation: 'Get Page Ranges Diff', status: 200, method: 'GET', path: '/{box}/page?comp=pagelist&prevsnapshot={pages}&maxresults=10', headers: { range: 'bytes=0-8191' } },
  { operation: 'Set Blob Properties', status: 200, method: 'PUT', path: '/{box}/page?comp=properties', headers: { 'x-ms-blob-content-length': '4096', 'x-ms-sequence-number-action': 'increment' } },
  { operation: 'Incremental Copy Blob', status: 202, method: 'PUT', path: '/{box}/backup?comp=incrementalcopy', headers: source('/{box}/page?snapshot={pages}') },

  { operation: 'Copy Blob', status: 202, method: 'PUT', path: '/{box}/copy', headers: { ...source('/{box}/block?snapshot={snapshot}'), 'x-ms-meta-a': 'b', 'x-ms-source-if-none-match': '"0x1"', 'x-ms-seal-blob': 'false' } },
  { operation: 'Copy Blob', status: 202, method: 'PUT', path: '/{box}/copy-far', headers: { 'x-ms-copy-source': '{web}/file', 'x-ms-access-tier': 'Cool' } },
  { operation: 'Copy Blob', status: 202, method: 'PUT', path: '/{box}/copy-held', headers: { 'x-ms-copy-source': '{web}/held' }, keep: { copyid: 'x-ms-copy-id' } },
  { operation: 'Abort Copy Blob', status: 204, method: 'PUT', path: '/{box}/copy-held?comp=copy&copyid={copyid}', headers: { 'x-ms-copy-action': 'abort' } },
  { operation: 'Copy Blob From URL', status: 202, method: 'PUT', path: '/{box}/copy-sync', headers: { ...source('/{box}/blocks'), 'x-ms-requires-sync': 'true', 'x-ms-copy-source-tag-option': 'COPY', 'x-ms-source-content-md5': '' } },
  { operation: 'Copy Blob From URL', status: 202, method: 'PUT', path: '/{box}/copy-sync-far', headers: { 'x-ms-copy-source': '{web}/file', 'x-ms-requires-sync': 'true', 'x-ms-tags': 'one=1' } },
  { operation: 'Put Blob From URL', status: 201, method: 'PUT', path: '/{box}/from-url', headers: { ...BLOCK_BLOB, ...source('/{box}/block?{sas}'), 'x-ms-copy-source-blob-properties': 'true', 'x-ms-copy-source-authorization': '' } },
  { operation: 'Put Blob From URL', status: 201, method: 'PUT', path: '/{box}/from-url-far', headers: { ...BLOCK_BLOB, 'x-ms-copy-source': '{web}/file' } },
  { operation: 'Put Append Blob', status: 201, method: 'PUT', path: '/{box}/append-far', headers: { 'x-ms-blob-type': 'AppendBlob' } },
  { operation: 'Append Block From URL', status: 201, method: 'PUT', path: '/{box}/append-far?comp=appendblock', headers: { 'x-ms-copy-source': '{web}/file', 'x-ms-source-range': 'bytes=0-9' } },

  { operation: 'Set Blob Expiry', status: 200, method: 'PUT', path: '/{box}/from-url-far?comp=expiry', headers: { 'x-ms-expiry-option': 'RelativeToNow', 'x-ms-expiry-time': '86400000' } },
  { operation: 'Set Blob Immutability Policy', status: 200, method: 'PUT', path: '/{box}/structured?comp=immutabilityPolicies', headers: { 'x-ms-immutability-policy-until-date': '{until}', 'x-ms-immutability-policy-mode': 'unlocked', 'if-unmodified-since': 'Sun, 15 Nov 2099 00:00:00 GMT' } },
  { operation: 'Delete Blob Immutability Policy', status: 200, method: 'DELETE', path: '/{box}/structured?comp=immutabilityPolicies' },
  { operation: 'Set Blob Legal Hold', status: 200, method: 'PUT', path: '/{box}/structured?comp=legalhold', headers: { 'x-ms-legal-hold': 'true' } },
  { operation: 'Set Blob Legal Hold', status: 200, method: 'PUT', path: '/{box}/structured?comp=legalhold', headers: { 'x-ms-legal-hold': 'false' } },

  { operation: 'Delete Blob', status: 202, method: 'DELETE', path: '/{box}/block?snapshot={snapshot}' },
  { operation: 'Delete Blob', status: 202, method: 'DELETE', path: '/{box}/block?snapshot={snapshot}&deletetype=permanent' },
  { operation: 'Delete Blob', status: 202, method: 'DELETE', path: '/{box}/page', headers: { 'x-ms-delete-snapshots': 'include', 'if-unmodified-since': 'Sun, 15 Nov 2099 00:00:00 GMT' } },
  { operation: 'Undelete Blob', status: 200, method: 'PUT', path: '/{box}/page?comp=undelete' },
  { operation: 'Submit Batch', status: 202, method: 'POST', path: '/?comp=batch', headers: MULTIPART, body: batch('DELETE /{account}/{box}/copy?{sas} HTTP/1.1', 'DELETE /{box}/nothing?{sas} HTTP/1.1\r\nx-ms-delete-snapshots: include') },
  { operation: 'Submit Batch', status: 202, method: 'POST', path: '/{box}?restype=container&comp=batch', headers: MULTIPART, body: batch('PUT /{account}/{box}/block?comp=tier&{sas} HTTP/1.1\r\nx-ms-access-tier: Archive', 'PUT /{account}/{box}/block?comp=tier&{sas} HTTP/1.1\r\nx-ms-access-tier: Hot') },
  { operation: 'Submit Batch', status: 202, method: 'POST', path: '/?restype=container&comp=batch', headers: MULTIPART, body: batch('DELETE /{account}/{box}/lines.json?{sas} HTTP/1.1') },

  { operation: 'Set Service Properties', status: 202, method: 'PUT', path: '/?restype=service&comp=properties', body: properties(true) },
  { operation: 'Put Blob', status: 201, method: 'PUT', path: '/{box}/versions', headers: BLOCK_BLOB, body: 'v'.repeat(5_000), keep: { version: 'x-ms-version-id' } },
  { operation: 'Put Blob', status: 201, method: 'PUT', path: '/{box}/versions', headers: { ...BLOCK_BLOB, 'x-ms-tags': 'one=1' }, body: 'w'.repeat(5_000) },
  { operation: 'Get Blob', status: 200, method: 'GET', path: '/{box}/versions?versionid={version}' },
  { operation: 'Copy Blob', status: 202, method: 'PUT', path: '/{box}/versions', headers: source('/{box}/versions?versionid={version}') },
  { operation: 'Delete Blob', status: 202, method: 'DELETE', path: '/{box}/versions?versionid={version}' },
  { operation: 'Delete Blob', status: 202, method: 'DELETE', path: '/{box}/versions' },

  { operation: 'Delete Container', status: 202, method: 'DELETE', path: '/{box}?restype=container', headers: { 'if-unmodified-since': 'Sun, 15 Nov 2099 00:00:00 GMT' } },
  { operation: 'List Containers', status: 200, method: 'GET', path: '/?comp=list&prefix={box}&include=deleted', keep: { deleted: '<Version>' } },
  { operation: 'Restore Container', status: 201, method: 'PUT', path: '/{box}?restype=container&comp=undelete', headers: { 'x-ms-deleted-container-name': '{box}', 'x-ms-deleted-container-version': '{deleted}' } },
]
