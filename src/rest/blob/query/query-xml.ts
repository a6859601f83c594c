// The body of Query Blob Contents: the expression, the format of the blob, and the format of the answer.
import {
  DELIMITED_DEFAULT,
  type DelimitedFormat,
  type InputFormat,
  type JsonFormat,
  type OutputFormat,
} from '../../../query/format/format.ts'
import type { QueryRequest } from '../../../query/run/query.ts'
import { parseXml, xmlChild, type XmlNode } from '../../../http/protocol/xml.ts'
import { StorageError } from '../../../storage/shared/error.ts'

const LIMITS = { lengthMax: 512 * 1024, depthMax: 8, nodeCountMax: 200 }

export function decodeQueryRequest(body: Uint8Array): QueryRequest {
  const root = parseXml(body, LIMITS)
  if (root.name !== 'QueryRequest') throw new StorageError('InvalidXmlDocument')
  const type = required(root, 'QueryType').text.trim()
  if (type.toUpperCase() !== 'SQL') throw invalidNode('QueryType', type)
  const input = formatOf(root, 'InputSerialization')
  const output = formatOf(root, 'OutputSerialization')
  return {
    expression: required(root, 'Expression').text,
    input: decodeFormat(input, { parquet: { type: 'parquet' } } satisfies Other<InputFormat>),
    output: decodeFormat(output, { arrow: { type: 'arrow' } } satisfies Other<OutputFormat>),
  }
}

type Other<F> = Readonly<Record<string, F>>

function formatOf(root: XmlNode, name: string): XmlNode | undefined {
  const serialization = xmlChild(root, name)
  return serialization === undefined ? undefined : required(serialization, 'Format')
}

/** The default is delimited text; `other` has the types that only input or only output supports. */
function decodeFormat<F>(
  format: XmlNode | undefined,
  other: Other<F>,
): F | DelimitedFormat | JsonFormat {
  if (format === undefined) return DELIMITED_DEFAULT
  const type = required(format, 'Type').text.trim().toLowerCase()
  if (type === 'delimited' || type === 'csv') {
    return decodeDelimited(xmlChild(format, 'DelimitedTextConfiguration'))
  }
  if (type === 'json') {
    return {
      type,
      recordSeparator: textOf(xmlChild(format, 'JsonTextConfiguration'), 'RecordSeparator'),
    }
  }
  const found = Object.hasOwn(other, type) ? other[type] : undefined
  if (found === undefined) throw invalidNode('Type', type)
  return found
}

function decodeDelimited(node: XmlNode | undefined): DelimitedFormat {
  if (node === undefined) return DELIMITED_DEFAULT
  const headers = textOf(node, 'HasHeaders').trim().toLowerCase()
  if (!['', 'true', 'false'].includes(headers)) throw invalidNode('HasHeaders', headers)
  return {
    type: 'delimited',
    columnSeparator: textOf(node, 'ColumnSeparator'),
    recordSeparator: textOf(node, 'RecordSeparator'),
    fieldQuote: characterOf(node, 'FieldQuote'),
    escapeChar: characterOf(node, 'EscapeChar'),
    hasHeaders: headers === 'true',
  }
}

/** One character or none; some clients send U+0000 for none. */
function characterOf(node: XmlNode, name: string): string {
  const text = textOf(node, name)
  if (text.length > 1) throw invalidNode(name, text)
  return text === '\0' ? '' : text
}

function textOf(node: XmlNode | undefined, name: string): string {
  return (node && xmlChild(node, name))?.text ?? ''
}

function required(node: XmlNode, name: string): XmlNode {
  const child = xmlChild(node, name)
  if (child === undefined) throw new StorageError('MissingRequiredXmlNode', { XmlNodeName: name })
  return child
}

function invalidNode(name: string, value: string): StorageError {
  return new StorageError('InvalidXmlNodeValue', { XmlNodeName: name, XmlNodeValue: value })
}
