// The properties of a service as JSON: the elements of Set Service Properties under their names; `Cors` is a list of rules.
import { ControlError } from '../../control/control-error.ts'
import { XML_DECLARATION, xmlEscape, type XmlNode } from '../../http/protocol/xml.ts'

const LISTS: Readonly<Record<string, string>> = { Cors: 'CorsRule' }

export function encodeSettings(settings: unknown, place: string): string {
  const inside = encodeInside(settings, place)
  return `${XML_DECLARATION}<StorageServiceProperties>${inside}</StorageServiceProperties>`
}

function encodeInside(value: unknown, place: string): string {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return Object.entries(value)
      .map(([name, inner]) => encodeElement(name, inner, place))
      .join('')
  }
  if (['string', 'number', 'boolean'].includes(typeof value)) return xmlEscape(String(value))
  throw new ControlError(`${place} must have elements of Set Service Properties`)
}

function encodeElement(name: string, value: unknown, place: string): string {
  if (!/^[A-Za-z]+$/.test(name)) throw new ControlError(`${place}: "${name}" is not an element`)
  const item = LISTS[name]
  if (item === undefined) return `<${name}>${encodeInside(value, `${place}.${name}`)}</${name}>`
  if (!Array.isArray(value)) throw new ControlError(`${place}.${name} must be a list`)
  const items = value.map((each) => `<${item}>${encodeInside(each, `${place}.${name}`)}</${item}>`)
  return `<${name}>${items.join('')}</${name}>`
}

export type Settings = string | readonly Settings[] | { readonly [name: string]: Settings }

export function decodeSettings({ name, children, text }: XmlNode): Settings {
  if (LISTS[name] !== undefined) return children.map(decodeSettings)
  if (children.length === 0) return text
  return Object.fromEntries(children.map((child) => [child.name, decodeSettings(child)]))
}
