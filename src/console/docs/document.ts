// The HTML around a page of the documentation: its navigation, and links to the page before and after.
import { escapeHtml } from './markdown.ts'

export type NavLink = { readonly text: string; readonly url: string }

export type NavGroup = { readonly title: string; readonly links: readonly NavLink[] }

export type DocPage = {
  readonly title: string
  readonly html: string
  readonly url: string
  readonly nav: readonly NavGroup[]
}

export function pageOf({ title, html, url, nav }: DocPage): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${escapeHtml(title)} – Lazuli</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="/console/page/icon.svg">
<link rel="stylesheet" href="/docs/style.css">
</head>
<body>
<a class="skip" href="#main">Skip to the page</a>
<div class="docs">
<nav aria-label="Documentation">
<p class="brand"><a href="/"><img src="/console/page/icon.svg" alt="" width="26" height="26"> Lazuli</a></p>
<p><a href="/">Console</a></p>
${nav.map((group) => groupHtml(group, url)).join('\n')}
</nav>
<main id="main" tabindex="-1">
${html}
${aroundHtml(nav, url)}
</main>
</div>
</body>
</html>
`
}

function groupHtml({ title, links }: NavGroup, url: string): string {
  const items = links.map((link) => `<li>${linkHtml(link, link.url === url)}</li>`)
  return `<h2>${escapeHtml(title)}</h2>\n<ul>\n${items.join('\n')}\n</ul>`
}

function linkHtml({ text, url }: NavLink, isCurrent: boolean): string {
  const current = isCurrent ? ' aria-current="page"' : ''
  return `<a href="${escapeHtml(url)}"${current}>${escapeHtml(text)}</a>`
}

function aroundHtml(nav: readonly NavGroup[], url: string): string {
  const links = nav.flatMap((group) => group.links)
  const at = links.findIndex((link) => link.url === url)
  if (at < 0) return ''
  const [before, after] = [links[at - 1], links[at + 1]]
  const previous = before === undefined ? '' : `<span>← ${linkHtml(before, false)}</span>`
  const next = after === undefined ? '' : `<span class="next">${linkHtml(after, false)} →</span>`
  return `<footer class="around">${previous}${next}</footer>`
}
