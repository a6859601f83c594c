// Parses and writes XML. A body becomes a small tree; a DOCTYPE, an entity other than the five predefined ones, an
// encoding other than UTF-8, or more depth or nodes than any request needs is InvalidXmlDocument. Answers are
// written by concatenation, since a list of 5,000 blobs is one long string.
import { Turn } from '../../kv/turn.ts'
import { SaxesParser } from 'saxes'
import { StorageError } from '../../storage/shared/error.ts'

export type XmlNode = {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: readonly XmlNode[]
  /** Text directly inside, CDATA included. */
  readonly text: string
  /** Where its end tag is. */
  readonly end: XmlPlace
}

/** Both count from 1; `position` is that of the tag's name. */
type XmlPlace = { readonly line: number; readonly position: number }

type XmlLimits = {
  readonly lengthMax: number
  readonly depthMax: number
  readonly nodeCountMax: number
}

/** The largest request is a block list: 50,000 blocks. */
export const XML_LIMITS: XmlLimits = {
  lengthMax: 16 * 1024 * 1024,
  depthMax: 16,
  nodeCountMax: 60_000,
}

const UTF8 = new TextDecoder('utf-8', { fatal: true })
const ENCODINGS: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii'])

type OpenNode = {
  name: string
  attributes: Record<string, string>
  children: OpenNode[]
  text: string
  end: XmlPlace
}

const NOWHERE: XmlPlace = { line: 0, position: 0 }

export function parseXml(body: string | Uint8Array, limits: XmlLimits = XML_LIMITS): XmlNode {
  const { text, holder, parser } = beginXml(body, limits)
  parser.write(text).close()
  return rootOf(holder)
}

/** The same, over as many turns of the event loop as it takes. */
export async function parseLongXml(body: Uint8Array, limits: XmlLimits): Promise<XmlNode> {
  const { text, holder, parser } = beginXml(body, limits)
  const turn = new Turn()
  for (let at = 0; at < text.length; at += PART_LENGTH) {
    parser.write(text.slice(at, at + PART_LENGTH))
    if (turn.isOver()) await turn.next()
  }
  parser.close()
  return rootOf(holder)
}

/** Parsing it takes a few milliseconds at most. */
const PART_LENGTH = 64 * 1024

function beginXml(body: string | Uint8Array, limits: XmlLimits) {
  if (body.length > limits.lengthMax) throw invalidXml()
  const text = typeof body === 'string' ? body : decodeUtf8(body)
  const holder: OpenNode = { name: '', attributes: {}, children: [], text: '', end: NOWHERE }
  return { text, holder, parser: createParser(holder, limits) }
}

function rootOf({ children: [root] }: OpenNode): XmlNode {
  if (root === undefined) throw invalidXml()
  return root
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes) // A byte order mark is dropped here; saxes drops one from a string.
  } catch {
    throw invalidXml()
  }
}

type Parser = SaxesParser<{ xmlns: false; position: false }>

function createParser(holder: OpenNode, limits: XmlLimits): Parser {
  const parser: Parser = new SaxesParser({ xmlns: false, position: false })
  const open: OpenNode[] = [holder]
  let count = 0
  let current = holder
  parser.on('error', ({ message }) => {
    throw invalidXml({ line: parser.line, position: parser.column + 1 }, message)
  })
  parser.on('doctype', () => {
    throw invalidXml()
  })
  parser.on('xmldecl', ({ encoding }) => {
    if (encoding !== undefined && !ENCODINGS.has(encoding.toLowerCase())) throw invalidXml()
  })
  parser.on('opentag', ({ name, attributes }) => {
    count += 1
    if (count > limits.nodeCountMax || open.length > limits.depthMax) throw invalidXml()
    const node: OpenNode = { name, attributes, children: [], text: '', end: NOWHERE }
    current.children.push(node)
    open.push(node)
    current = node
  })
  const addText = (text: string) => {
    current.text += text
  }
  parser.on('text', addText)
  parser.on('cdata', addText)
  parser.on('closetag', ({ name, isSelfClosing }) => {
    // The parser is now after the tag: `name>`, or `/>`.
    const back = isSelfClosing ? 1 : name.length
    current.end = { line: parser.line, position: parser.column - back }
    open.pop()
    current = open.at(-1) ?? holder
  })
  return parser
}

/** The only child with that name, if any; two are an error. */
export function xmlChild(node: XmlNode, name: string): XmlNode | undefined {
  const [first, second] = node.children.filter((child) => child.name === name)
  if (second !== undefined) throw invalidXml()
  return first
}

export function invalidXml(place: XmlPlace = NOWHERE, reason = ''): StorageError {
  return new StorageError('InvalidXmlDocument', {
    LineNumber: String(place.line),
    LinePosition: String(place.position),
    Reason: reason,
  })
}

export const XML_DECLARATION = '<?xml version="1.0" encoding="utf-8"?>'

/** Characters that take the slow path; not all of them need escaping. */
const SPECIAL = /[&<>\p{Cc}\p{Cs}\ufffe\uffff]/u
const SPECIALS = new RegExp(SPECIAL.source, 'gu')
const NOT_XML = /(?![\t\n\r\u007f-\u009f])[\p{Cc}\p{Cs}\ufffe\uffff]/u

/** Escapes text between tags. Characters that XML 1.0 does not allow become U+FFFD. */
export function xmlEscape(text: string): string {
  return SPECIAL.test(text) ? text.replace(SPECIALS, escapeCharacter) : text
}

/** Escapes text between the double quotes of an attribute. */
export function xmlEscapeAttribute(text: string): string {
  const escaped = xmlEscape(text)
  if (!/["\t\n]/.test(escaped)) return escaped
  return escaped.replaceAll('"', '&quot;').replaceAll('\t', '&#x9;').replaceAll('\n', '&#xA;')
}

function escapeCharacter(character: string): string {
  if (character === '&') return '&amp;'
  if (character === '<') return '&lt;'
  if (character === '>') return '&gt;'
  // A parser would read a bare carriage return as a line feed.
  if (character === '\r') return '&#xD;'
  return NOT_XML.test(character) ? '\ufffd' : character
}

/** `<name>text</name>`, or `<name />` for empty text. */
export function xmlElement(name: string, text: string): string {
  return text === '' ? `<${name} />` : `<${name}>${xmlEscape(text)}</${name}>`
}

/** Empty for undefined. */
export function xmlOptional(name: string, value: string | number | boolean | undefined): string {
  return value === undefined ? '' : xmlElement(name, String(value))
}

/**
 * An element with the name of a blob or a prefix. A name that XML does not allow is percent-encoded and marked
 * `Encoded` (since 2021-02-12).
 */
export function xmlNameElement(element: string, name: string): string {
  if (!SPECIAL.test(name)) return `<${element}>${name}</${element}>`
  if (!NOT_XML.test(name)) return `<${element}>${xmlEscape(name)}</${element}>`
  return `<${element} Encoded="true">${encodeURIComponent(wellFormed(name))}</${element}>`
}

function wellFormed(text: string): string {
  return text.replace(/\p{Cs}/gu, '\ufffd')
}
