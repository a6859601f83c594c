// The XML of the services. Documents are only read, never shown.
import type { Ask, Area } from './storage.ts'
import { ask } from './storage.ts'

export async function askXml(area: Area, request: Ask): Promise<Element> {
  return parseXml(await (await ask(area, request)).text())
}

export function parseXml(text: string): Element {
  return new DOMParser().parseFromString(text.replace(/^\uFEFF/, ''), 'text/xml').documentElement
}

export function childrenOf(element: Element | undefined, name: string): readonly Element[] {
  return element === undefined
    ? []
    : [...element.children].filter(({ tagName }) => tagName === name)
}

/** The element at the end of the path; undefined if there is none. */
export function childOf(
  element: Element | undefined,
  ...path: readonly string[]
): Element | undefined {
  let at = element
  for (const name of path) at = at && [...at.children].find(({ tagName }) => tagName === name)
  return at
}

export function textAt(element: Element | undefined, ...path: readonly string[]): string {
  return childOf(element, ...path)?.textContent ?? ''
}

/** A name that XML can't hold is percent-encoded. */
export function nameOf(element: Element): string {
  const name = childOf(element, 'Name')
  const text = name?.textContent ?? ''
  return name?.getAttribute('Encoded') === 'true' ? decodeURIComponent(text) : text
}

export function pairsOf(element: Element | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...(element?.children ?? [])].map((each) => [each.tagName, each.textContent ?? '']),
  )
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
}

export function escaped(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => ESCAPES[character] ?? '')
}
