// Values that often break the parsers of this API: numbers at their limits, invalid times, ranges, base64, ETags, tags,
// filters, SQL, names, markers, and URLs that a copy must not follow.

const LONG = 'a'.repeat(5_000)
const DEEP = '('.repeat(3_000)

// prettier-ignore
export const WORDS: readonly string[] = [
  '', ' ', '0', '-0', '-1', '1', '007', '1.5', '1e9', '0x10', 'NaN', 'Infinity', 'null', 'undefined', 'true', 'false', 'TRUE',
  '2147483647', '2147483648', '4294967296', '9007199254740991', '9007199254740993', '9223372036854775807',
  '9223372036854775808', '-9223372036854775808', '18446744073709551616', '9'.repeat(400), '٣',
  '512', '513', '1024', '8192', '5001', '5000', '4194304', '1099511627776', '8796093022208', '8796093022720',
  // times
  'Thu, 01 Jan 1970 00:00:00 GMT', 'Fri, 31 Dec 9999 23:59:59 GMT', 'Mon, 30 Feb 2026 25:61:61 GMT', '2026-02-30T00:00:00Z',
  '0001-01-01T00:00:00.0000000Z', '9999-12-31T23:59:59.9999999Z', '+275760-09-13T00:00:00Z', '2026-01-01', '2026-01-01T00:00:00.0000000Z',
  // ranges
  'bytes=', 'bytes=-', 'bytes=0-', 'bytes=-1', 'bytes=5-1', 'bytes=0-0', 'bytes=0-511', 'bytes=1-511', 'bytes=0-1,3-4',
  'bytes=0-9223372036854775807', 'bytes=9223372036854775807-', 'bytes=512-1099511627775', 'items=0-1', 'bytes=0-18446744073709551615',
  // base64, GUIDs, ETags
  '=', '====', 'AA=', 'A', 'AAAA', 'YWFhYQ==', 'YWFhYQ', '!!!!', '_-_-', 'A'.repeat(88), 'A'.repeat(92), 'AAAAAAAAAAA=', 'XUFAKrxLKna5cZ2REBfFkg==',
  '00000000-0000-0000-0000-000000000000', '{6c1f4b1c-0b0e-4c39-8d6c-7c8f7a2f7d3e}', '6c1f4b1c0b0e4c398d6c7c8f7a2f7d3e',
  '{0x6c1f4b1c,0x0b0e,0x4c39,{0x8d,0x6c,0x7c,0x8f,0x7a,0x2f,0x7d,0x3e}}',
  '*', '"*"', '"', '""', 'W/"0x1"', '"0x1", "0x2"', '"0x1",*', '"a'.repeat(300), '0x8DD',
  // tags and filters
  'a=b&a=c', '=', '&', 'a', 'a=', '=b', 'a=b=c', 'a=%zz', '%00=1', 'a=%F0%9F%98%80', 'one=1&two=2', Array.from({ length: 12 }, (_, i) => `k${i}=v`).join('&'),
  `"one"='1'`, `"one" = '1' AND "two" <> '2'`, `one>'`, `@container='x'`, `@container=''`, `"a"='b' OR "c"='d'`, `"a"='b`, `a='b' AND`, `NOT a`, `"" = ''`,
  `"one" >= '0' AND "one" < '9' AND "one" >= '5'`, `${`"a"='b' AND `.repeat(200)}"a"='b'`,
  // SQL
  'SELECT', 'SELECT *', 'SELECT * FROM BlobStorage', 'SELECT * FROM BlobStorage LIMIT 99999999999999999999', 'SELECT COUNT(*), _1 FROM BlobStorage',
  'SELECT 1/0, 1%0 FROM BlobStorage', 'SELECT CAST(_1 AS INT) FROM BlobStorage WHERE _1 = _2 = _3', `SELECT ${DEEP}1`, 'SELECT ----1 FROM BlobStorage',
  `SELECT * FROM BlobStorage WHERE ${'NOT '.repeat(3_000)}_1`, `SELECT ${'1+'.repeat(3_000)}1 FROM BlobStorage`, `SELECT * FROM BlobStorage WHERE _1 LIKE '${'%a'.repeat(30)}'`,
  `SELECT _1 || _99999999999 FROM BlobStorage`, 'SELECT __proto__, constructor.name FROM BlobStorage', 'SELECT a.b[99999999999].c FROM BlobStorage[*].x[*]',
  `SELECT TO_TIMESTAMP('x'), DATE_ADD(year, 99999999, UTCNOW()), EXTRACT(year FROM TO_TIMESTAMP('9999-12-31T23:59:59Z')), DATE_DIFF(second, UTCNOW(), UTCNOW()) FROM BlobStorage LIMIT 1`,
  `SELECT SUBSTRING(_1, -5, 99999999999), TRIM(LEADING 'x' FROM _2), CHAR_LENGTH(_3), COALESCE(NULL, _1), NULLIF(_1, _1) FROM BlobStorage LIMIT 2`,
  `SELECT TO_STRING(TO_TIMESTAMP('2026-01-01'), '${'y'.repeat(500)}') FROM BlobStorage`, 'SELECT sys.split(0) FROM BlobStorage', 'SELECT sys.split(10) FROM BlobStorage',
  'SELECT MAX(_1), MIN(_2), SUM(_3), AVG(_9) FROM BlobStorage', 'delimited', 'json', 'parquet', 'arrow', 'csv',
  // names, and properties of JavaScript objects
  '.', '..', '../..', '/', '//', '\\', '$root', '$logs', '$web', '$', '-', 'a--b', 'UPPER', LONG, 'x'.repeat(1_025), 'a/'.repeat(300), 'ü'.repeat(600),
  '__proto__', 'constructor', 'toString', 'hasOwnProperty', 'prototype', 'valueOf',
  // words of the API in the wrong place
  'container', 'blob', 'service', 'account', 'list', 'properties', 'metadata', 'acl', 'lease', 'tags', 'tier', 'copy', 'page', 'pagelist', 'block', 'blocklist', 'appendblock',
  'seal', 'snapshot', 'undelete', 'query', 'batch', 'blobs', 'expiry', 'legalhold', 'immutabilityPolicies', 'incrementalcopy', 'rename', 'userdelegationkey', 'stats', 'messages',
  'BlockBlob', 'PageBlob', 'AppendBlob', 'Hot', 'Archive', 'Cold', 'P10', 'Premium', 'acquire', 'renew', 'change', 'release', 'break', 'abort', 'update', 'clear', 'include', 'only',
  'max', 'increment', 'permanent', 'all', 'uncommitted', 'COPY', 'REPLACE', 'RelativeToNow', 'Absolute', 'NeverExpire', 'scope', '$account-encryption-key', 'AES256',
  'XSM/1.0; properties=crc64', 'XSM/9', '2009-09-19', '2008-10-27', '2011-08-18', '2019-12-12', '2021-12-02', '2099-01-01', '20', 'chunked', '100-continue', 'gzip',
  'multipart/mixed; boundary=', 'multipart/mixed; boundary="', 'multipart/mixed; boundary=batch_357de4f7', `multipart/mixed; boundary=${'b'.repeat(71)}`, 'text/plain',
  // files: attributes, times, permissions, owners, names that Windows reserves
  'ReadOnly', 'None', 'None|Hidden', 'Directory', 'Archive|Archive', '|', 'ReadOnly | Offline | NoScrubData', 'now', 'preserve', 'source', 'override', 'inherit', 'backup', 'Sddl', 'Binary', 'New', 'Restore',
  'O:SYG:SYD:', 'O:S-1-5-21-1-2-3-4G:DUD:(A;;FA;;;WD)', 'D:(A;;FA;;;SY)', 'O:SYG:SYD:(A;;;;;)', 'O:SYG:SYD:(XA;;FX;;;WD;(@User.a == 1))', `O:SYG:SYD:${'(A;;FA;;;SY)'.repeat(1_500)}`, `O:S-1-${'9'.repeat(60)}G:SYD:`,
  `O:SYG:SYD:${DEEP}`, 'AQAEgAAAAAAAAAAAAAAAAAAAAAA=', '1*1', '*1', '4294967295', '0777', '07777', '8888', 'rwxrwxrwx', 'rwsr-sr-t', 'NFS', 'SMB', 'NoRootSquash', 'CON', 'nul.txt', 'COM1', 'a:b', 'a*', 'dots...',
  'directory', 'share', 'file', 'hardlink', 'symboliclink', 'range', 'rangelist', 'filepermission', 'listhandles', 'forceclosehandles', 'include-leased', '2018-11-09', '2019-02-02', '2020-02-10', '2021-06-08', '2026-06-06', '2026-10-06',
  // special characters of HTML, XML and HTTP
  '日本', 'naïve "ü"', '\u0001', '\u0085', '\ufffe', '😀',
  '<', '&lt;', '&#0;', ']]>', '<!DOCTYPE x>', '<a/>', '%', '%2', '%00', '%0d%0aX: y', '%ff', '%C3%28', '%ED%A0%80', '%F0%9F%98%80', '%2F%2e%2e', '+', '\u00ff', '\u0080', '\t', ',', ';', ':', '?', '#',
  'bmE', 'bm90LWEtbWFya2Vy', 'MTIz', Buffer.from('["a",1]').toString('base64'), Buffer.from('{"a":').toString('base64url'), Buffer.from('\0\xff', 'latin1').toString('base64url'),
]

/** A copy from one of these would let a client read internal servers. `{trap}` must never get a request. */
// prettier-ignore
export const SOURCES: readonly string[] = [
  '{trap}/secret', '{trap}', '{web}@127.0.0.1:{trapport}/secret', '{web}/../../secret', '{web}/redirect', '{web}/%2e%2e/x', '{web}/missing', '{web}/cut', '{web}/longer', '{web}/odd-headers', '{web}/not-http',
  '{web}\\@127.0.0.1:{trapport}/', '{web}#@127.0.0.1:{trapport}/', 'http://user:password@127.0.0.1:{trapport}/', 'http://[::ffff:127.0.0.1]:{trapport}/', 'http://0x7f.1:{trapport}/', 'http://2130706433:{trapport}/',
  'http://0:{trapport}/', 'http://localhost:{trapport}/', 'http://127.1:{trapport}/', 'http://[::1]:{trapport}/', 'http://169.254.169.254/metadata/instance', 'http://168.63.129.16/', 'file:///etc/passwd', 'ftp://127.0.0.1/',
  'gopher://127.0.0.1:{trapport}/_x', 'data:text/plain,x', 'javascript:1', 'http://', 'http:', '//127.0.0.1:{trapport}/', 'http:/127.0.0.1:{trapport}/', 'http://127.0.0.1:99999/', 'http://127.0.0.1:-1/', 'https://127.0.0.1:{trapport}/', 'http://%31%32%37.1:{trapport}/',
  'http://a.blob.core.windows.net/x/y', '{blob}', '{blob}/', '{blob}/{account}', '{blob}/{account}/{box}', '{blob}/{account}/{box}/', '{blob}/{account}/canary/b', '{blob}/{account}/{box}/block?snapshot=x', '{blob}/{account}/{box}/page?snapshot={pages}',
  '{blob}/{account}/{box}/block?versionid={version}', '{blob}/{account}/{box}/%zz', '{blob}/{account}/{box}/block?sv=1&sig=%zz', '{blob}/nobody/{box}/block', '{blob}/{account}/../{account}/{box}/block', '{blob}/{account}/{box}/block?{sas}&{sas}', '/{account}/{box}/block', '{box}/block', '{queueorigin}/{account}/{queue}/messages',
  '{file}', '{file}/{account}/{share}', '{file}/{account}/{share}/dir', '{file}/{account}/{share}/dir/a.txt', '{file}/{account}/{share}/dir/a.txt?sharesnapshot=x', '{file}/{account}/{share}/none', '{file}/{account}/canary/dir/f', '{file}/{share}/dir', '{file}/nobody/{share}/dir', '{file}/{account}/{share}/dir/large', '{file}/{account}/{share}/../canary/dir/f', '{file}/{account}/{nfs}/soft', '{blob}/{account}/canary/big',
]
