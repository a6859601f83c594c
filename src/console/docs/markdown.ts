// Markdown to HTML. Links and images go where the caller says, and raw HTML becomes text: nothing that a page says can run or
// load anything of its own.
import { Marked, Renderer, type Tokens } from 'marked'

export type Rendered = {
  /** Of the first heading. */
  readonly title: string
  readonly html: string
}

export type Link = { readonly text: string; readonly target: string }

/** The first link of each item of the lists below a heading. */
export type LinkGroup = { readonly title: string; readonly links: readonly Link[] }

/** The URL for a target as the page has it; undefined: it becomes plain text. */
export type UrlOf = (target: string) => string | undefined

const PARSER = new Marked()

export function renderMarkdown(text: string, urlOf: UrlOf): Rendered {
  const tokens = PARSER.lexer(text)
  const title = tokens.find((token): token is Tokens.Heading => token.type === 'heading')
  const renderer = new PageRenderer(urlOf)
  return {
    title: title === undefined ? '' : plainText(title),
    html: PARSER.parser(tokens, { renderer }),
  }
}

class PageRenderer extends Renderer {
  readonly #urlOf: UrlOf
  readonly #anchors = new Map<string, number>()

  constructor(urlOf: UrlOf) {
    super()
    this.#urlOf = urlOf
  }

  override html({ text }: Tokens.HTML | Tokens.Tag): string {
    return /^<!--[^]*-->\s*$/.test(text) ? '' : escapeHtml(text)
  }

  override heading(token: Tokens.Heading): string {
    const { depth, tokens } = token
    const anchor = this.#unique(anchorOf(plainText(token)))
    const link = `<a class="anchor" href="#${anchor}" aria-hidden="true" tabindex="-1">#</a>`
    return `<h${depth} id="${anchor}">${this.parser.parseInline(tokens)}${link}</h${depth}>\n`
  }

  override link({ href, tokens }: Tokens.Link): string {
    const inner = this.parser.parseInline(tokens)
    const url = this.#urlOf(href)
    return url === undefined ? inner : `<a href="${escapeHtml(url)}">${inner}</a>`
  }

  override image({ href, text }: Tokens.Image): string {
    const url = this.#urlOf(href)
    if (url === undefined) return escapeHtml(text)
    return `<img src="${escapeHtml(url)}" alt="${escapeHtml(text)}">`
  }

  /** A wide table scrolls by itself, also with the keyboard. Markdown requires a head, also where there is nothing to say. */
  override table(token: Tokens.Table): string {
    const hasHead = token.header.some(({ text }) => text !== '')
    const table = super.table(token).replaceAll('<th></th>', '<td></td>')
    const shown = hasHead ? table : table.replace(/<thead>[^]*?<\/thead>\n/, '')
    return `<div class="scroll" tabindex="0" role="group" aria-label="Table">${shown}</div>\n`
  }

  override code(token: Tokens.Code): string {
    return super.code(token).replace(/^<pre>/, '<pre tabindex="0">')
  }

  /** As GitHub numbers headings of the same name. */
  #unique(anchor: string): string {
    const count = this.#anchors.get(anchor) ?? 0
    this.#anchors.set(anchor, count + 1)
    return count === 0 ? anchor : `${anchor}-${count}`
  }
}

/** As GitHub makes it of a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-')
}

export function linkGroups(text: string): readonly LinkGroup[] {
  const groups: { title: string; links: Link[] }[] = []
  for (const token of PARSER.lexer(text)) {
    if (isHeading(token)) groups.push({ title: plainText(token), links: [] })
    if (!isList(token)) continue
    for (const { tokens } of token.items) {
      const [link] = linksIn(tokens)
      if (link !== undefined)
        groups.at(-1)?.links.push({ text: plainText(link), target: link.href })
    }
  }
  return groups.filter(({ links }) => links.length > 0)
}

type Token = { readonly type: string }
type Parent = Token & { readonly tokens: readonly Token[] }

const isHeading = (token: Token): token is Tokens.Heading => token.type === 'heading'
const isList = (token: Token): token is Tokens.List => token.type === 'list'
const isLink = (token: Token): token is Tokens.Link => token.type === 'link'
const isParent = (token: Token): token is Parent => 'tokens' in token

function* linksIn(tokens: readonly Token[]): Generator<Tokens.Link> {
  for (const token of tokens) {
    if (isLink(token)) yield token
    else if (isParent(token)) yield* linksIn(token.tokens)
  }
}

/** Without marks; entities are decoded by nobody, since headings have none. */
function plainText(token: Token): string {
  if (isParent(token)) return token.tokens.map(plainText).join('')
  return 'text' in token ? String(token.text) : ''
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (letter) => ENTITIES[letter] ?? letter)
}
