// A scenario of valid requests for every operation of the File service, to be mutated.
import { crc64, structuredMessage } from './hostile-bodies.ts'
import type { Headers, Seed } from './hostile-seed.ts'

const LEASE = '6c1f4b1c-0b0e-4c39-8d6c-7c8f7a2f7d3e'
const OTHER_LEASE = 'a3a5ac5c-1c4f-4b8c-9b5e-0c6d2f9f1e11'
const WITH_LEASE = { 'x-ms-lease-id': LEASE }
const SDDL = 'O:SYG:SYD:(A;;FA;;;SY)(A;;0x1200a9;;;S-1-5-21-1-2-3-500)'
const TIMES = {
  'x-ms-file-creation-time': '2024-01-02T03:04:05.1234567Z',
  'x-ms-file-last-write-time': 'now',
  'x-ms-file-change-time': '2024-01-02T03:04:05Z',
}
const SMB = { 'x-ms-file-attributes': 'Archive|Hidden', 'x-ms-file-permission': SDDL, ...TIMES }
/** Free text that the service stores and sends back in headers. */
const TEXTS = {
  'x-ms-content-type': 'text/plain',
  'x-ms-content-disposition': 'inline',
  'x-ms-content-language': 'de',
  'x-ms-content-encoding': 'identity',
  'x-ms-cache-control': 'no-cache',
  'x-ms-content-md5': 'XUFAKrxLKna5cZ2REBfFkg==',
}
const newFile = (lengthBytes: number, more: Headers = {}): Headers => ({
  'x-ms-type': 'file',
  'x-ms-content-length': String(lengthBytes),
  ...more,
})
const write = (range: string, more: Headers = {}): Headers => ({
  'x-ms-write': 'update',
  'x-ms-range': `bytes=${range}`,
  ...more,
})
const source = (path: string): Headers => ({ 'x-ms-copy-source': `{file}/{account}${path}` })
const from = (path: string): Headers => ({
  'x-ms-file-rename-source': `{file}/{account}/{share}/${path}`,
})
const lease = (action: string, more: Headers = {}): Headers => ({
  'x-ms-lease-action': action,
  ...more,
})
const ACQUIRE = lease('acquire', { 'x-ms-proposed-lease-id': LEASE })
const CHANGE = lease('change', { ...WITH_LEASE, 'x-ms-proposed-lease-id': OTHER_LEASE })
const RELEASE = lease('release', { 'x-ms-lease-id': OTHER_LEASE })
const STRUCTURED = { 'x-ms-structured-body': 'XSM/1.0; properties=crc64' }

const retention = '<Enabled>true</Enabled><Days>3</Days>'
const properties = (isKept: boolean) =>
  `<StorageServiceProperties>${metrics('Hour')}${metrics('Minute')}<Cors><CorsRule><AllowedMethods>GET</AllowedMethods>` +
  '<AllowedOrigins>*</AllowedOrigins><AllowedHeaders>*</AllowedHeaders><ExposedHeaders>*</ExposedHeaders><MaxAgeInSeconds>5</MaxAgeInSeconds></CorsRule></Cors>' +
  `<ShareDeleteRetentionPolicy>${isKept ? retention : '<Enabled>false</Enabled>'}</ShareDeleteRetentionPolicy>` +
  '<ProtocolSettings><SMB><Multichannel><Enabled>false</Enabled></Multichannel></SMB></ProtocolSettings></StorageServiceProperties>'
const metrics = (name: string) =>
  `<${name}Metrics><Version>1.0</Version><Enabled>false</Enabled><RetentionPolicy>${retention}</RetentionPolicy></${name}Metrics>`
const IDENTIFIERS =
  '<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Start>2026-01-01T00:00:00Z</Start>' +
  '<Expiry>2099-01-01</Expiry><Permission>rwdl</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>'
const KEY_INFO = '<KeyInfo><Start>{soon}</Start><Expiry>{later}</Expiry></KeyInfo>'
const TOKEN = { 'x-ms-file-request-intent': 'backup' }
const CONTENT = 'content '.repeat(512)
const SOURCE_CRC64 = crc64(Buffer.from(CONTENT.slice(0, 1_024))).toString('base64')

// prettier-ignore
const SHARE_SEEDS: readonly Seed[] = [
  { operation: 'Set Service Properties', status: 202, method: 'PUT', path: '/?restype=service&comp=properties', body: properties(true) },
  { operation: 'Get Service Properties', status: 200, method: 'GET', path: '/?restype=service&comp=properties' },
  { operation: 'Get User Delegation Key', status: 200, method: 'POST', path: '/?restype=service&comp=userdelegationkey', headers: TOKEN, body: KEY_INFO, as: 'token' },
  { operation: 'Create Share', status: 201, method: 'PUT', path: '/{share}?restype=share', headers: { 'x-ms-meta-one': '1', 'x-ms-share-quota': '100', 'x-ms-access-tier': 'Hot', 'x-ms-enabled-protocols': 'SMB' } },
  { operation: 'Create Share', status: 201, method: 'PUT', path: '/{nfs}?restype=share', headers: { 'x-ms-enabled-protocols': 'NFS', 'x-ms-access-tier': 'Premium', 'x-ms-root-squash': 'RootSquash', 'x-ms-enable-snapshot-virtual-directory-access': 'true' } },
  { operation: 'Set Share Properties', status: 200, method: 'PUT', path: '/{share}?restype=share&comp=properties', headers: { 'x-ms-share-quota': '5120', 'x-ms-access-tier': 'Cool' } },
  { operation: 'Get Share Properties', status: 200, method: 'GET', path: '/{share}?restype=share' },
  { operation: 'Set Share Metadata', status: 200, method: 'PUT', path: '/{share}?restype=share&comp=metadata', headers: { 'x-ms-meta-two': '2' } },
  { operation: 'Get Share Metadata', status: 200, method: 'HEAD', path: '/{share}?restype=share&comp=metadata' },
  { operation: 'Set Share ACL', status: 200, method: 'PUT', path: '/{share}?restype=share&comp=acl', body: IDENTIFIERS },
  { operation: 'Get Share ACL', status: 200, method: 'GET', path: '/{share}?restype=share&comp=acl', headers: { origin: 'https://a.example' } },
  { operation: 'Get Share Stats', status: 200, method: 'GET', path: '/{share}?restype=share&comp=stats' },
  { operation: 'Create Permission', status: 201, method: 'PUT', path: '/{share}?restype=share&comp=filepermission', body: JSON.stringify({ permission: SDDL, format: 'Sddl' }), keep: { permission: 'x-ms-file-permission-key' } },
  { operation: 'Get Permission', status: 200, method: 'GET', path: '/{share}?restype=share&comp=filepermission', headers: { 'x-ms-file-permission-key': '{permission}', 'x-ms-file-permission-format': 'Binary' } },
  { operation: 'Lease Share', status: 201, method: 'PUT', path: '/{share}?restype=share&comp=lease', headers: { ...ACQUIRE, 'x-ms-lease-duration': '15' } },
  { operation: 'Lease Share', status: 200, method: 'PUT', path: '/{share}?restype=share&comp=lease', headers: lease('renew', WITH_LEASE) },
  { operation: 'Lease Share', status: 200, method: 'PUT', path: '/{share}?restype=share&comp=lease', headers: CHANGE },
  { operation: 'Lease Share', status: 202, method: 'PUT', path: '/{share}?restype=share&comp=lease', headers: lease('break', { 'x-ms-lease-break-period': '0' }) },
  { operation: 'Lease Share', status: 200, method: 'PUT', path: '/{share}?restype=share&comp=lease', headers: RELEASE },
  { operation: 'List Shares', status: 200, method: 'GET', path: '/?comp=list&maxresults=1&include=metadata,snapshots', keep: { shares: '<NextMarker>' } },
  { operation: 'List Shares', status: 200, method: 'GET', path: '/?comp=list&marker={shares}&prefix=s' },
]

// prettier-ignore
const TREE_SEEDS: readonly Seed[] = [
  { operation: 'Create Directory', status: 201, method: 'PUT', path: '/{share}/dir?restype=directory', headers: { ...SMB, 'x-ms-meta-one': '1', 'x-ms-file-attributes': 'Directory' } },
  { operation: 'Create Directory', status: 201, method: 'PUT', path: '/{share}/dir/sub.?restype=directory', headers: { 'x-ms-allow-trailing-dot': 'true' } },
  { operation: 'Get Directory Properties', status: 200, method: 'GET', path: '/{share}/dir?restype=directory' },
  { operation: 'Get Directory Properties', status: 200, method: 'HEAD', path: '/{share}?restype=directory' },
  { operation: 'Set Directory Properties', status: 200, method: 'PUT', path: '/{share}/dir?restype=directory&comp=properties', headers: { 'x-ms-file-attributes': 'Directory|System', 'x-ms-file-permission-key': '{permission}', ...TIMES } },
  { operation: 'Set Directory Metadata', status: 200, method: 'PUT', path: '/{share}/dir?restype=directory&comp=metadata', headers: { 'x-ms-meta-two': '2' } },
  { operation: 'Get Directory Metadata', status: 200, method: 'GET', path: '/{share}/dir?restype=directory&comp=metadata' },
  { operation: 'Create File', status: 201, method: 'PUT', path: '/{share}/dir/a.txt', headers: newFile(4_096, { ...SMB, ...TEXTS, 'x-ms-meta-one': '1', 'x-ms-file-property-semantics': 'Restore' }) },
  { operation: 'Create File', status: 201, method: 'PUT', path: '/{share}/dir/first', headers: newFile(5, { 'x-ms-version': '2026-06-06', 'content-md5': 'XUFAKrxLKna5cZ2REBfFkg==' }), body: 'hello' },
  { operation: 'Create File', status: 201, method: 'PUT', path: '/{share}/dir/large', headers: newFile(2 ** 20) },
  { operation: 'Put Range', status: 201, method: 'PUT', path: '/{share}/dir/a.txt?comp=range', headers: write('0-4095'), body: CONTENT },
  { operation: 'Put Range', status: 201, method: 'PUT', path: '/{share}/dir/a.txt?comp=range', headers: write('5-9', { 'x-ms-file-last-write-time': 'preserve', 'content-md5': 'XUFAKrxLKna5cZ2REBfFkg==' }), body: 'hello' },
  { operation: 'Put Range', status: 201, method: 'PUT', path: '/{share}/dir/large?comp=range', headers: write('1000-200999', { ...STRUCTURED, 'x-ms-structured-content-length': '200000' }), body: structuredMessage(200_000, 65_536) },
  { operation: 'Snapshot Share', status: 201, method: 'PUT', path: '/{share}?restype=share&comp=snapshot', headers: { 'x-ms-meta-three': '3' }, keep: { snapshot: 'x-ms-snapshot' } },
  { operation: 'Clear Range', status: 201, method: 'PUT', path: '/{share}/dir/a.txt?comp=range', headers: { 'x-ms-write': 'clear', 'x-ms-range': 'bytes=100-2099' } },
  { operation: 'Put Range from URL', status: 201, method: 'PUT', path: '/{share}/dir/a.txt?comp=range', headers: write('1024-2047', { ...source('/{share}/dir/a.txt?sharesnapshot={snapshot}'), 'x-ms-source-range': 'bytes=1024-2047', 'x-ms-source-content-crc64': SOURCE_CRC64 }) },
  { operation: 'List Ranges', status: 200, method: 'GET', path: '/{share}/dir/a.txt?comp=rangelist', headers: { 'x-ms-range': 'bytes=0-3000' } },
  { operation: 'List Ranges', status: 200, method: 'GET', path: '/{share}/dir/a.txt?comp=rangelist&prevsharesnapshot={snapshot}', headers: { 'x-ms-file-support-rename': 'true' } },
  { operation: 'List Ranges', status: 200, method: 'GET', path: '/{share}/dir/a.txt?comp=rangelist&maxresults=1', headers: { 'x-ms-version': '2026-10-06' }, keep: { ranges: '<NextMarker>' } },
  { operation: 'List Ranges', status: 200, method: 'GET', path: '/{share}/dir/a.txt?comp=rangelist&marker={ranges}', headers: { 'x-ms-version': '2026-10-06' } },
  { operation: 'Get File', status: 200, method: 'GET', path: '/{share}/dir/a.txt', headers: { origin: 'https://a.example' } },
  { operation: 'Get File', status: 206, method: 'GET', path: '/{share}/dir/a.txt?sharesnapshot={snapshot}', headers: { 'x-ms-range': 'bytes=3-99', 'x-ms-range-get-content-md5': 'true' } },
  { operation: 'Get File', status: 206, method: 'GET', path: '/{share}/dir/large', headers: { ...STRUCTURED, 'x-ms-range': 'bytes=0-99' } },
  { operation: 'Get File Properties', status: 200, method: 'HEAD', path: '/{share}/dir/a.txt' },
  { operation: 'Set File Properties', status: 200, method: 'PUT', path: '/{share}/dir/a.txt?comp=properties', headers: { ...TEXTS, ...TIMES, 'x-ms-file-attributes': 'preserve', 'x-ms-file-permission': 'preserve', 'x-ms-content-length': '3000' } },
  { operation: 'Set File Metadata', status: 200, method: 'PUT', path: '/{share}/dir/a.txt?comp=metadata', headers: { 'x-ms-meta-two': '2' } },
  { operation: 'Get File Metadata', status: 200, method: 'HEAD', path: '/{share}/dir/a.txt?comp=metadata' },
  { operation: 'Lease File', status: 201, method: 'PUT', path: '/{share}/dir/a.txt?comp=lease', headers: { ...ACQUIRE, 'x-ms-lease-duration': '-1' } },
  { operation: 'Put Range', status: 201, method: 'PUT', path: '/{share}/dir/a.txt?comp=range', headers: write('0-0', WITH_LEASE), body: 'x' },
  { operation: 'Lease File', status: 200, method: 'PUT', path: '/{share}/dir/a.txt?comp=lease', headers: CHANGE },
  { operation: 'Lease File', status: 202, method: 'PUT', path: '/{share}/dir/a.txt?comp=lease', headers: lease('break') },
  { operation: 'Lease File', status: 200, method: 'PUT', path: '/{share}/dir/a.txt?comp=lease', headers: RELEASE },
  { operation: 'List Directories and Files', status: 200, method: 'GET', path: '/{share}/dir?restype=directory&comp=list&maxresults=1&include=timestamps,etag,attributes,permissionkey', headers: { 'x-ms-file-extended-info': 'true' }, keep: { files: '<NextMarker>' } },
  { operation: 'List Directories and Files', status: 200, method: 'GET', path: '/{share}/dir?restype=directory&comp=list&marker={files}&prefix=f' },
  { operation: 'List Directories and Files', status: 200, method: 'GET', path: '/{share}?restype=directory&comp=list&sharesnapshot={snapshot}' },
  { operation: 'List Handles', status: 200, method: 'GET', path: '/{share}/dir?comp=listhandles&maxresults=5', headers: { 'x-ms-recursive': 'true' } },
  { operation: 'Force Close Handles', status: 200, method: 'PUT', path: '/{share}/dir?comp=forceclosehandles', headers: { 'x-ms-handle-id': '*', 'x-ms-recursive': 'true' } },
  { operation: 'Copy File', status: 202, method: 'PUT', path: '/{share}/copy', headers: { ...source('/{share}/dir/a.txt'), 'x-ms-meta-c': '1', 'x-ms-file-permission-copy-mode': 'source', 'x-ms-file-copy-set-archive': 'true', 'x-ms-file-attributes': 'source' } },
  { operation: 'Copy File', status: 202, method: 'PUT', path: '/{share}/copy', headers: { ...source('/{share}/dir/large?sharesnapshot={snapshot}'), 'x-ms-file-permission': SDDL, 'x-ms-file-permission-copy-mode': 'override', 'x-ms-file-copy-ignore-readonly': 'true' } },
  { operation: 'Copy File', status: 202, method: 'PUT', path: '/{share}/copy-held', headers: { 'x-ms-copy-source': '{web}/held' }, keep: { filecopyid: 'x-ms-copy-id' } },
  { operation: 'Abort Copy File', status: 204, method: 'PUT', path: '/{share}/copy-held?comp=copy&copyid={filecopyid}', headers: { 'x-ms-copy-action': 'abort' } },
  { operation: 'Rename File', status: 200, method: 'PUT', path: '/{share}/renamed?comp=rename', headers: { ...from('copy'), 'x-ms-content-type': 'text/plain', 'x-ms-meta-r': '1', ...TIMES } },
  { operation: 'Rename File', status: 200, method: 'PUT', path: '/{share}/dir/first?comp=rename', headers: { ...from('renamed'), 'x-ms-file-rename-replace-if-exists': 'true', 'x-ms-file-rename-ignore-readonly': 'true' } },
  { operation: 'Rename Directory', status: 200, method: 'PUT', path: '/{share}/moved?restype=directory&comp=rename', headers: { ...from('dir'), 'x-ms-file-attributes': 'Directory' } },
]

// prettier-ignore
const END_SEEDS: readonly Seed[] = [
  { operation: 'Create Directory', status: 201, method: 'PUT', path: '/{nfs}/d?restype=directory', headers: { 'x-ms-owner': '1', 'x-ms-group': '2', 'x-ms-mode': '0755' } },
  { operation: 'Create File', status: 201, method: 'PUT', path: '/{nfs}/d/file', headers: newFile(9, { 'x-ms-owner': '1', 'x-ms-mode': 'rwxr-x---', 'x-ms-file-file-type': 'Regular' }) },
  { operation: 'Create Hard Link', status: 201, method: 'PUT', path: '/{nfs}/hard?restype=hardlink', headers: { 'x-ms-type': 'file', 'x-ms-file-target-file': '/d/file' } },
  { operation: 'Create Symbolic Link', status: 201, method: 'PUT', path: '/{nfs}/soft?restype=symboliclink', headers: { 'x-ms-link-text': 'd%2Ffile', 'x-ms-owner': '3', 'x-ms-meta-one': '1' } },
  { operation: 'Get Symbolic Link', status: 200, method: 'GET', path: '/{nfs}/soft?restype=symboliclink' },
  { operation: 'Delete File', status: 202, method: 'DELETE', path: '/{nfs}/d/file' },
  { operation: 'Delete File', status: 202, method: 'DELETE', path: '/{share}/moved/a.txt' },
  { operation: 'Delete Directory', status: 202, method: 'DELETE', path: '/{share}/moved/sub.?restype=directory', headers: { 'x-ms-allow-trailing-dot': 'true' } },
  { operation: 'Get File', status: 200, method: 'GET', path: '/{share}/dir/a.txt?sharesnapshot={snapshot}' },
  { operation: 'Delete Share', status: 202, method: 'DELETE', path: '/{nfs}?restype=share' },
  { operation: 'Delete Share', status: 202, method: 'DELETE', path: '/{share}?restype=share&sharesnapshot={snapshot}' },
  { operation: 'Delete Share', status: 202, method: 'DELETE', path: '/{share}?restype=share', headers: { 'x-ms-delete-snapshots': 'include' } },
  { operation: 'List Shares', status: 200, method: 'GET', path: '/?comp=list&prefix={share}&include=deleted', keep: { deletedshare: '<Version>' } },
  { operation: 'Restore Share', status: 201, method: 'PUT', path: '/{share}?restype=share&comp=undelete', headers: { 'x-ms-deleted-share-name': '{share}', 'x-ms-deleted-share-version': '{deletedshare}' } },
  { operation: 'Get Service Stats', status: 200, method: 'GET', path: '/?restype=service&comp=stats', secondary: true },
  { operation: 'Set Service Properties', status: 202, method: 'PUT', path: '/?restype=service&comp=properties', body: properties(false) },
]

export const FILE_SEEDS: readonly Seed[] = [...SHARE_SEEDS, ...TREE_SEEDS, ...END_SEEDS]
