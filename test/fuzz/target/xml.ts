// XML: documents, and every body that a service reads as XML.
import { StorageError } from '../../../src/storage/shared/error.ts'
import { parseXml, xmlElement, type XmlNode } from '../../../src/http/protocol/xml.ts'
import { decodeBlockListXml } from '../../../src/rest/blob/content/block-list-xml.ts'
import { decodeTagsXml, encodeTagsXml } from '../../../src/rest/blob/list/tags-xml.ts'
import { decodeQueryRequest } from '../../../src/rest/blob/query/query-xml.ts'
import { decodeMessageText } from '../../../src/rest/queue/queue-xml.ts'
import { decodeSignedIdentifiers } from '../../../src/rest/shared/access-policy-xml.ts'
import { decodeServiceProperties } from '../../../src/rest/shared/service-properties-xml.ts'
import { decodeKeyRequest } from '../../../src/rest/shared/user-delegation-key-xml.ts'
import { decodeSettings } from '../../../src/run/seed/service-settings.ts'
import { target } from '../target.ts'

const WORDS = [
  '<', '>', '</', '/>', '&', '&amp;', '&#0;', '&#x10FFFF;', '&a;', '<![CDATA[', ']]>', '<!--', '-->', '<!DOCTYPE a [',
  '<!ENTITY a "b">', '<?xml version="1.0" encoding="utf-8"?>', 'encoding="utf-16"', ' a="b"', '\u00ef\u00bb\u00bf', '\u00ff\u00fe',
] // prettier-ignore

/** Only elements with text or with children, since a mixture has no encoder. */
function encoded({ name, children, text }: XmlNode): string | undefined {
  if (children.length === 0) return xmlElement(name, text)
  const parts = children.map(encoded)
  if (text.trim() !== '' || parts.includes(undefined)) return undefined
  return `<${name}>${parts.join('')}</${name}>`
}

function plain({ name, children, text }: XmlNode): unknown {
  return { name, children: children.map(plain), ...(children.length === 0 && { text }) }
}

const SERVICES = ['blob', 'queue', 'table', 'file'] as const

export const XML_TARGETS = [
  target({
    name: 'xml',
    seeds: [
      '<?xml version="1.0" encoding="utf-8"?><a b="c"><d>e &amp; f</d><g/></a>',
      '<a><![CDATA[<b>]]></a>',
    ],
    words: WORDS,
    lengthMax: 16_384,
    decode: (input) => parseXml(input),
    refuses: [StorageError],
  }),
  target({
    name: 'xml-text',
    seeds: ['<a><b>c &lt; d</b><e></e></a>', '<a> &#13;&#10;\t </a>'],
    words: WORDS,
    decode: (input) => {
      const node = parseXml(input.toString('utf8'))
      return { node: plain(node), text: encoded(node) }
    },
    again: ({ text }) => {
      if (text === undefined) return undefined
      const node = parseXml(text)
      return { node: plain(node), text: encoded(node) }
    },
    refuses: [StorageError],
  }),
  target({
    name: 'block-list',
    seeds: [
      '<BlockList><Latest>AAA=</Latest><Committed>BBB=</Committed><Uncommitted>CCC=</Uncommitted></BlockList>',
    ],
    words: [...WORDS, '<Latest>', '</Latest>', 'AAA='],
    lengthMax: 16_384,
    decode: (input) => decodeBlockListXml(input),
    refuses: [StorageError],
  }),
  target({
    name: 'tags-xml',
    seeds: ['<Tags><TagSet><Tag><Key>a</Key><Value>b c</Value></Tag></TagSet></Tags>'],
    words: [...WORDS, '<Tag><Key>b</Key><Value></Value></Tag>'],
    decode: (input) => decodeTagsXml(input),
    again: (tags) => decodeTagsXml(Buffer.from(encodeTagsXml(tags))),
    refuses: [StorageError],
  }),
  target({
    name: 'query-request',
    seeds: [
      '<QueryRequest><QueryType>SQL</QueryType><Expression>SELECT * FROM BlobStorage</Expression><InputSerialization><Format><Type>delimited</Type><DelimitedTextConfiguration><ColumnSeparator>,</ColumnSeparator><FieldQuote>"</FieldQuote><RecordSeparator>\n</RecordSeparator><EscapeChar>\\</EscapeChar><HasHeaders>true</HasHeaders></DelimitedTextConfiguration></Format></InputSerialization><OutputSerialization><Format><Type>json</Type><JsonTextConfiguration><RecordSeparator>\n</RecordSeparator></JsonTextConfiguration></Format></OutputSerialization></QueryRequest>',
    ],
    words: [...WORDS, 'parquet', 'arrow', 'json', 'csv', '__proto__'],
    decode: (input) => decodeQueryRequest(input),
    refuses: [StorageError],
  }),
  target({
    name: 'queue-message',
    seeds: ['<QueueMessage><MessageText>aGVsbG8=</MessageText></QueueMessage>'],
    words: WORDS,
    decode: (input) => decodeMessageText(input),
    refuses: [StorageError],
  }),
  target({
    name: 'signed-identifiers',
    seeds: [
      '<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Start>2026-01-01T00:00:00Z</Start><Expiry>2026-01-02</Expiry><Permission>rwdl</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>',
    ],
    words: [...WORDS, 'raup', 'raud', '2026-01-01T00:00:00.1234567Z'],
    decode: (input) =>
      SERVICES.map((service) => attempt(() => decodeSignedIdentifiers(service, input))),
    refuses: [StorageError],
  }),
  target({
    name: 'service-properties',
    seeds: [
      '<StorageServiceProperties><Logging><Version>1.0</Version><Delete>true</Delete><Read>false</Read><Write>true</Write><RetentionPolicy><Enabled>true</Enabled><Days>7</Days></RetentionPolicy></Logging><Cors><CorsRule><AllowedOrigins>*</AllowedOrigins><AllowedMethods>GET,PUT</AllowedMethods><MaxAgeInSeconds>5</MaxAgeInSeconds><ExposedHeaders>x-ms-*</ExposedHeaders><AllowedHeaders>*</AllowedHeaders></CorsRule></Cors></StorageServiceProperties>',
      '<StorageServiceProperties><DefaultServiceVersion>2020-10-02</DefaultServiceVersion><DeleteRetentionPolicy><Enabled>true</Enabled><Days>3</Days></DeleteRetentionPolicy><StaticWebsite><Enabled>true</Enabled><IndexDocument>i</IndexDocument></StaticWebsite></StorageServiceProperties>',
      '<StorageServiceProperties><ProtocolSettings><SMB><Multichannel><Enabled>false</Enabled></Multichannel></SMB></ProtocolSettings></StorageServiceProperties>',
    ],
    words: [
      ...WORDS,
      '<Days>366</Days>',
      '<MinuteMetrics>',
      '<HourMetrics>',
      '<IncludeAPIs>true</IncludeAPIs>',
    ],
    decode: (input) =>
      SERVICES.map((service) => attempt(() => decodeServiceProperties(service, input))),
    refuses: [StorageError],
  }),
  target({
    name: 'key-request',
    seeds: [
      '<KeyInfo><Start>2026-01-01T00:00:00Z</Start><Expiry>2026-01-02T00:00:00Z</Expiry></KeyInfo>',
    ],
    words: WORDS,
    decode: (input) => decodeKeyRequest(input),
    refuses: [StorageError],
  }),
  target({
    name: 'seed-settings',
    seeds: ['<a><b>true</b><c><d>1</d></c></a>'],
    words: [...WORDS, '__proto__'],
    decode: (input) => decodeSettings(parseXml(input)),
    refuses: [StorageError],
  }),
]

function attempt(decode: () => unknown): unknown {
  try {
    return decode()
  } catch (error) {
    if (error instanceof StorageError) return error.code
    throw error
  }
}
