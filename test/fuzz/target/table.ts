// Tables, tags and files: OData filters, JSON payloads, continuation tokens, tag filters, permissions.
import { StorageError } from '../../../src/storage/shared/error.ts'
import { parseFilter } from '../../../src/storage/table/filter-parse.ts'
import { matchesFilter } from '../../../src/storage/table/filter.ts'
import { formatEdm, parseEdm } from '../../../src/storage/table/edm-text.ts'
import { decodeEntity, decodeTableName } from '../../../src/rest/table/payload-decode.ts'
import { decodeContinuation, encodeContinuation } from '../../../src/rest/table/query-option.ts'
import { decodePopReceipt, encodePopReceipt } from '../../../src/storage/queue/pop-receipt.ts'
import { decodeTagsHeader } from '../../../src/storage/shared/tags.ts'
import { matchesTags, parseIfTags, parseWhere } from '../../../src/storage/shared/tag-filter.ts'
import { formatSddl } from '../../../src/storage/file/security/sddl-format.ts'
import { parseDescriptorText, parseSddl } from '../../../src/storage/file/security/sddl.ts'
import {
  decodeSecurityDescriptor,
  encodeSecurityDescriptor,
} from '../../../src/storage/file/security/security-descriptor.ts'
import { fileTimeText, parseFileTime } from '../../../src/storage/file/tree/file-time.ts'
import { parseFilePath } from '../../../src/storage/file/tree/file-name.ts'
import { target, textOf } from '../target.ts'

const SDDL =
  'O:S-1-5-21-2127521184-1604012920-1887927527-21560751G:SYD:AI(A;;FA;;;SY)(A;OICI;0x1200a9;;;BU)S:NO_ACCESS_CONTROL'
const EDM_TYPES = [
  'Edm.Int32',
  'Edm.Int64',
  'Edm.Double',
  'Edm.Guid',
  'Edm.DateTime',
  'Edm.Binary',
  'Edm.Boolean',
  'Edm.String',
] as const

const ENTITY = {
  partitionKey: 'p',
  rowKey: 'r',
  timestamp: { type: 'Edm.DateTime', value: '2026-01-15T12:00:00.0000000Z' },
  properties: { A: { type: 'Edm.Int32', value: 5 }, B: { type: 'Edm.String', value: 'b' } },
} as const

export const TABLE_TARGETS = [
  target({
    name: 'odata-filter',
    seeds: [
      "PartitionKey eq 'a' and (RowKey ge 'b' or not A lt 5)",
      "A eq 5L or B eq 1.5e3 and C eq guid'00000000-0000-0000-0000-000000000000' or D lt datetime'2026-01-15T12:00:00Z'",
      "X eq X'ab' or Y eq binary'00' and Z eq true or 5 le A",
    ],
    words: [
      ' eq ',
      ' ne ',
      ' and ',
      ' or ',
      'not ',
      '(',
      ')',
      "'",
      "''",
      "datetime'",
      "guid'",
      "X'",
      '5L',
      'NaN',
      '-INF',
      'Timestamp',
      ' add ',
      'startswith(',
    ],
    lengthMax: 16_384,
    decode: (input) => {
      const filter = parseFilter(textOf(input))
      return { filter, matches: matchesFilter(filter, ENTITY) }
    },
    refuses: [StorageError],
  }),
  target({
    name: 'entity-json',
    seeds: [
      '{"PartitionKey":"a","RowKey":"b","A":5,"B":"x","C":1.5,"D":true,"E":null}',
      '{"A@odata.type":"Edm.Int64","A":"9223372036854775807","B@odata.type":"Edm.Binary","B":"AAEC","C@odata.type":"Edm.Guid","C":"00000000-0000-0000-0000-000000000000","D@odata.type":"Edm.DateTime","D":"2026-01-15T12:00:00Z","TableName":"T"}',
    ],
    words: [
      '"',
      '\\u0000',
      '\\ud800',
      '\\',
      '{',
      '}',
      '[',
      ',',
      ':',
      'null',
      '1e400',
      '-0',
      '@odata.type":"Edm.',
      'Int64',
      'Double',
      'NaN',
      'Infinity',
      '"__proto__":',
    ],
    lengthMax: 16_384,
    decode: (input) => {
      const name = input.includes('TableName') ? [decodeTableName(input)] : []
      return { ...decodeEntity(input), name }
    },
    refuses: [StorageError],
  }),
  target({
    name: 'edm-text',
    seeds: [
      '2147483647',
      '-9223372036854775808',
      '1.5e-7',
      'NaN',
      '2026-01-15T12:00:00.1234567Z',
      '0001-01-01T00:00:00Z',
      '00000000-0000-0000-0000-000000000000',
      'AAEC',
      'true',
    ],
    words: ['-', '+', 'e', 'E', '.', 'Z', '+14:00', 'T24:00:00', 'Infinity', '0x', '='],
    decode: (input) => EDM_TYPES.map((type) => parseEdm(type, textOf(input))),
    again: (values) =>
      values.map((value) =>
        value === undefined ? undefined : parseEdm(value.type, formatEdm(value)),
      ),
    refuses: [StorageError],
  }),
  target({
    name: 'continuation',
    seeds: [encodeContinuation('key'), encodeContinuation('\ud800'), '1!4!YQAA'],
    words: ['1!', '!', '=', '-', '_'],
    decode: (input) =>
      decodeContinuation({ query: new Map([['n', input.toString('latin1')]]) }, 'N'),
    again: (key) =>
      key === undefined
        ? undefined
        : decodeContinuation({ query: new Map([['n', encodeContinuation(key)]]) }, 'N'),
    refuses: [StorageError],
  }),
  target({
    name: 'pop-receipt',
    seeds: [encodePopReceipt({ messageId: '00000000-0000-0000-0000-000000000000', sequence: 1 })],
    decode: (input) => decodePopReceipt(input.toString('latin1')),
    again: (receipt) => receipt && decodePopReceipt(encodePopReceipt(receipt)),
    refuses: [],
  }),
  target({
    name: 'tag-filter',
    seeds: [
      "\"a\" = 'b' AND \"c\" >= 'd' AND @container = 'e'",
      '"a" <> \'b\' OR ("c" < \'d\' AND "e" = \'f\')',
    ],
    words: [' AND ', ' OR ', '(', ')', '"', "'", "''", ' = ', ' <> ', ' >= ', '@container'],
    lengthMax: 16_384,
    decode: (input) => {
      const text = textOf(input)
      const isWhere = text.includes('@container')
      if (isWhere) return { where: parseWhere(text, 'account') }
      return { matches: matchesTags(parseIfTags(text), [['a', 'b']]) }
    },
    refuses: [StorageError],
  }),
  target({
    name: 'tags-header',
    seeds: ['a=b&c=d%20e', 'a+b=%2F'],
    words: ['&', '=', '%', '+', '%E2%82%AC'],
    decode: (input) => decodeTagsHeader(input.toString('latin1')),
    again: (tags) =>
      decodeTagsHeader(tags.map((pair) => pair.map(encodeURIComponent).join('=')).join('&')),
    refuses: [StorageError],
  }),
  target({
    name: 'sddl',
    seeds: [
      SDDL,
      'O:SYG:SYD:P(D;CIID;GRGW;;;S-1-0x10000000000-5)',
      'O:BAG:BAD:(OA;;CC;bf967aba-0de6-11d0-a285-00aa003049e2;;AU)',
    ],
    words: [
      'O:',
      'G:',
      'D:',
      'S:',
      '(A;;FA;;;SY)',
      ';',
      'S-1-',
      'OICI',
      '0x',
      'NO_ACCESS_CONTROL',
      'P',
      'AI',
    ],
    lengthMax: 16_384,
    decode: (input) => parseSddl(textOf(input)),
    again: (descriptor) => parseDescriptorText(formatSddl(descriptor)),
    refuses: [StorageError],
  }),
  target({
    name: 'security-descriptor',
    seeds: [
      encodeSecurityDescriptor(parseSddl(SDDL)),
      encodeSecurityDescriptor(parseSddl('O:SYG:SYD:')),
    ],
    lengthMax: 1_024,
    // A Buffer is compared as another class than the bytes of the encoder.
    decode: (input) => decodeSecurityDescriptor(Uint8Array.from(input)),
    again: (descriptor) => decodeSecurityDescriptor(encodeSecurityDescriptor(descriptor)),
    refuses: [StorageError],
  }),
  target({
    name: 'file-time',
    seeds: [
      '2026-01-15T12:00:00.1234567Z',
      '1601-01-01T00:00:00.0000000Z',
      '9999-12-31T23:59:59.9999999Z',
    ],
    decode: (input) => parseFileTime(input.toString('latin1')),
    again: (time) => time && parseFileTime(fileTimeText(time)),
    refuses: [StorageError],
  }),
  target({
    name: 'file-path',
    seeds: ['a/b/c', 'a\\b', 'dir./file', '../a', 'a//b', 'LPT1'],
    words: ['/', '\\', '.', '..', ' ', 'CON', ':', '*', '?', '"', '\0'],
    decode: (input) =>
      [true, false].map((allowTrailingDot) => parseFilePath(textOf(input), { allowTrailingDot })),
    again: (paths) =>
      paths.map((names, at) => parseFilePath(names.join('/'), { allowTrailingDot: at === 0 })),
    refuses: [StorageError],
  }),
]
