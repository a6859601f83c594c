// What people and other nodes send: forms of import, settings, rules of the admin port, preambles.
import { ControlError } from '../../../src/control/control-error.ts'
import { decodeBarrierRule } from '../../../src/control/barrier/barrier-rule.ts'
import { decodeFaultRule } from '../../../src/control/fault/fault-rule.ts'
import { decodeDuration, decodeTime } from '../../../src/control/time.ts'
import { barrierRule, faultRule } from '../../../src/start/admin/api/rules.ts'
import { decodePreamble, encodePreamble } from '../../../src/peer/preamble.ts'
import { connectionSettings } from '../../../src/postgres/settings.ts'
import { decodeSegment, encodeSegment } from '../../../src/run/seed/seed-path.ts'
import { parseCsv } from '../../../src/run/seed/csv.ts'
import { parseYaml } from '../../../src/run/seed/yaml.ts'
import { decodeAccountList } from '../../../src/start/account/account-list.ts'
import { StartError } from '../../../src/start/start-error.ts'
import { decodeKey, encodeKey } from '../../../src/kv/key.ts'
import { target, textOf } from '../target.ts'

// The YAML library warns of what is ambiguous, with every input.
process.removeAllListeners('warning')

const JSON_WORDS = [
  '{',
  '}',
  '[',
  '"',
  ':',
  ',',
  'null',
  '-1',
  '1e999',
  '"__proto__":',
  '"at":"checked"',
  '"match":{',
  '"effect":{',
  '"times":',
  '"probability":',
  '"PT1S"',
]

function jsonOf(input: Buffer): unknown {
  try {
    return JSON.parse(textOf(input))
  } catch {
    return undefined
  }
}

function attempt(decode: () => unknown): unknown {
  try {
    return decode()
  } catch (error) {
    if (error instanceof ControlError) return error.message.slice(0, 500)
    throw error
  }
}

export const OTHER_TARGETS = [
  target({
    name: 'import-csv',
    seeds: ['PartitionKey,RowKey,A\na,b,5\n"c ""d""","e\nf",\n'],
    words: ['"', '""', ',', '\n', '\r\n', '\u00ef\u00bb\u00bf'],
    decode: (input) => parseCsv(textOf(input), 'file.csv'),
    refuses: [ControlError],
  }),
  target({
    name: 'import-yaml',
    seeds: ['a:\n  - b: c\n  - "d"\ne: &x [1, 2]\nf: *x\n'],
    words: ['&x ', '*x', '<<: ', '- ', ': ', '\n', '{', '[', '!!binary ', '|\n', '"'],
    lengthMax: 1_024,
    decode: (input) => {
      // What a document means is any value, and aliases repeat it: only that it ends counts.
      parseYaml(textOf(input))
      return 'parsed'
    },
    // The library's errors have several classes; each becomes a message with the name of the file.
    refuses: [Error],
  }),
  target({
    name: 'import-path',
    seeds: ['a b.txt', '100%', 'a%2Fb', '%2F', 'COM1'],
    words: ['%', '%2F', '%25', '.', ' ', ':', '\0'],
    lengthMax: 1_024,
    decode: (input) => {
      const name = textOf(input).replaceAll('/', '')
      return { name, back: decodeSegment(encodeSegment(name)) }
    },
    again: ({ name }) => ({ name, back: name }),
    refuses: [],
  }),
  target({
    name: 'steering-rules',
    seeds: [
      '{"at":"checked","match":{"operation":"Put Blob","path":"/a/*"},"count":1,"timeLimit":"PT5S"}',
      '{"match":{"service":"blob"},"effect":{"status":503,"retryAfterSeconds":1},"probability":0.5,"seed":1,"times":2}',
      '{"effect":{"delay":{"from":"PT0.1S","to":500}}}',
    ],
    words: JSON_WORDS,
    decode: (input) => {
      const value = jsonOf(input)
      const decoders = [decodeBarrierRule, decodeFaultRule]
      const schemas = [barrierRule, faultRule]
      return [
        ...decoders.map((decode) => attempt(() => decode(value))),
        ...schemas.map((schema) => attempt(() => schema.decode(value, ''))),
      ]
    },
    refuses: [],
  }),
  target({
    name: 'duration',
    seeds: ['PT1H30M5.5S', 'P1D', '2026-01-15T12:00:00Z', '90s'],
    words: ['P', 'T', 'D', 'H', 'M', 'S', 'Y', 'W', '-', '.', '1e9', '999999999999999999999'],
    decode: (input) => {
      const text = input.toString('latin1')
      return [attempt(() => decodeDuration(text, 'd')), attempt(() => decodeTime(text, 't'))]
    },
    refuses: [],
  }),
  target({
    name: 'preamble',
    seeds: [
      encodePreamble({
        service: 'blob',
        client: {
          remoteAddress: '127.0.0.1',
          remotePort: 1,
          localAddress: '::1',
          secure: true,
          onLoopback: true,
        },
      }),
    ],
    words: ['"', '{', '}', 'null', '"__proto__":{', '1e5', 'true'],
    decode: (input) => decodePreamble(textOf(input)),
    again: (preamble) => preamble && decodePreamble(encodePreamble(preamble)),
    refuses: [],
  }),
  target({
    name: 'database-url',
    seeds: [
      'postgres://user:p%40ss@host1:5432,host2/db?sslmode=require',
      'postgresql://%2Ftmp/db?host=/run&port=1,2',
    ],
    words: ['@', ':', '/', '?', '&', '=', '%', ',', 'sslmode=', 'host=', 'port=', '[::1]'],
    decode: (input) => connectionSettings(input.toString('latin1'), { HOME: '/' }),
    // Plain errors: whoever starts the server reads their message.
    refuses: [Error],
  }),
  target({
    name: 'account-list',
    seeds: [
      'a1:a2V5;b2:a2V5:a2V5',
      'devstoreaccount1:Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==',
    ],
    words: [';', ':', '='],
    decode: (input) => decodeAccountList(input.toString('latin1'), 'LAZULI_ACCOUNTS'),
    refuses: [StartError],
  }),
  target({
    name: 'kv-key',
    seeds: ['a\0b', 'container\nblob', '5'],
    decode: (input) => {
      const parts = input
        .toString('utf8')
        .split('\n')
        .map((part) => (/^\d{1,15}$/.test(part) ? Number(part) : part))
      return { parts, back: decodeKey(encodeKey(...parts)) }
    },
    again: ({ parts }) => ({ parts, back: parts }),
    lengthMax: 512,
    refuses: [],
  }),
]
