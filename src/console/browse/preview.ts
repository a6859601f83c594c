// Shows the first bytes of a blob or file: as text, JSON, a table, a picture, or bytes. Nothing that is stored is ever run: it is
// shown as text, or as a picture of a type that has no scripts.
import { messageOf } from '../page/api/call.ts'
import { html, useEffect, useState, type VNode } from '../page/library.ts'
import { bytes, count } from '../page/ui/format.ts'
import { Failure, Loading } from '../page/ui/states.ts'
import { parseCsv, prettyJson, hexOf } from './preview-text.ts'
import { ask, type Area, type Ask } from './storage.ts'

const TEXT_BYTES = 256 * 1024
const HEX_BYTES = 2 * 1024
const IMAGE_BYTES_MAX = 16 * 1024 * 1024
const ROWS_MAX = 200
const COLUMNS_MAX = 40

/** Pictures without scripts, by the bytes that they begin with: SVG is shown as text. */
const IMAGES: readonly (readonly [type: string, at: number, magic: string])[] = [
  ['image/png', 0, '\x89PNG'],
  ['image/jpeg', 0, '\xff\xd8\xff'],
  ['image/gif', 0, 'GIF8'],
  ['image/webp', 8, 'WEBP'],
  ['image/avif', 4, 'ftypavif'],
  ['image/bmp', 0, 'BM'],
]

export type Previewed = {
  readonly area: Area
  /** A GET without a range. */
  readonly request: Ask
  readonly name: string
  readonly type: string
  readonly sizeBytes: number
}

type Loaded =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'image'; readonly url: string }

export function Preview(of: Previewed): VNode {
  const [loaded, setLoaded] = useState<Loaded | undefined>(undefined)
  const [failure, setFailure] = useState<string | undefined>(undefined)
  const key = JSON.stringify([of.request.path, of.request.query, of.request.headers])
  useEffect(() => {
    const stopping = new AbortController()
    let url: string | undefined
    load(of, stopping.signal).then(
      (found) => {
        if (found.kind === 'image') url = found.url
        if (stopping.signal.aborted && url !== undefined) URL.revokeObjectURL(url)
        else setLoaded(found)
      },
      (error: unknown) => stopping.signal.aborted || setFailure(messageOf(error)),
    )
    return () => {
      stopping.abort()
      if (url !== undefined) URL.revokeObjectURL(url)
    }
  }, [key])
  if (failure !== undefined) return html`<${Failure}>${failure}<//>`
  if (loaded === undefined) return html`<${Loading} />`
  if (loaded.kind === 'image')
    return html`<img class="preview-image" src=${loaded.url} alt=${`The picture ${of.name}`} />`
  return html`<${Bytes} bytes=${loaded.bytes} of=${of} />`
}

async function load({ area, request, sizeBytes }: Previewed, signal: AbortSignal): Promise<Loaded> {
  if (sizeBytes === 0) return { kind: 'bytes', bytes: new Uint8Array() }
  const headers = { ...request.headers, 'x-ms-range': `bytes=0-${TEXT_BYTES - 1}` }
  const first = new Uint8Array(
    await (await ask(area, { ...request, headers, signal })).arrayBuffer(),
  )
  const type = imageType(first)
  if (type === undefined || sizeBytes > IMAGE_BYTES_MAX) return { kind: 'bytes', bytes: first }
  const whole =
    first.length >= sizeBytes
      ? first
      : await (await ask(area, { ...request, signal })).arrayBuffer()
  return { kind: 'image', url: URL.createObjectURL(new Blob([whole], { type })) }
}

function imageType(first: Uint8Array): string | undefined {
  const text = String.fromCharCode(...first.subarray(0, 16))
  return IMAGES.find(([, at, magic]) => text.startsWith(magic, at))?.[0]
}

function Bytes({
  bytes: first,
  of,
}: {
  readonly bytes: Uint8Array
  readonly of: Previewed
}): VNode {
  const [isRaw, setRaw] = useState(false)
  if (of.sizeBytes === 0) return html`<p class="muted">It is empty.</p>`
  const isWhole = first.length >= of.sizeBytes
  const text = textOf(first, isWhole)
  if (text === undefined) return html`<${Hex} bytes=${first} sizeBytes=${of.sizeBytes} />`
  const shaped = isRaw ? undefined : shapedOf(text, of, isWhole)
  const canShape = isRaw || shaped !== undefined
  return html`
    ${canShape && html`<label class="check"><input type="checkbox" checked=${isRaw} onChange=${(event: Event) => setRaw((event.target as HTMLInputElement).checked)} />As it is stored</label>`}
    ${shaped ?? html`<pre class="preview" tabindex="0">${text}</pre>`}
    ${!isWhole && html`<p class="muted">The first ${bytes(first.length)} of ${bytes(of.sizeBytes)}.</p>`}
  `
}

/** undefined: it is not text. */
function textOf(first: Uint8Array, isWhole: boolean): string | undefined {
  try {
    // The last character may be cut in two.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(first, { stream: !isWhole })
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}

function shapedOf(text: string, { name, type }: Previewed, isWhole: boolean): VNode | undefined {
  if (/json/i.test(type) || /\.json$/i.test(name) || /^\s*[[{]/.test(text)) {
    const pretty = isWhole ? prettyJson(text) : undefined
    if (pretty !== undefined) return html`<pre class="preview json" tabindex="0">${pretty}</pre>`
  }
  if (/csv|tab-separated/i.test(type) || /\.(csv|tsv)$/i.test(name)) return csvTable(text, isWhole)
  return undefined
}

function csvTable(text: string, isWhole: boolean): VNode {
  const rows = parseCsv(text, ROWS_MAX + 1)
  // The last row of a part may be cut.
  const [head = [], ...body] = isWhole || rows.length > ROWS_MAX ? rows : rows.slice(0, -1)
  return html`<div class="preview csv" tabindex="0" role="region" aria-label="Table">
    <table>
      <thead>
        <tr>
          ${head.slice(0, COLUMNS_MAX).map((cell) => html`<th scope="col">${cell}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${body.map(
          (row) =>
            html`<tr>
              ${row.slice(0, COLUMNS_MAX).map((cell) => html`<td>${cell}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
    ${rows.length > ROWS_MAX && html`<p class="muted">The first ${count(ROWS_MAX)} rows.</p>`}
  </div>`
}

function Hex({
  bytes: first,
  sizeBytes,
}: {
  readonly bytes: Uint8Array
  readonly sizeBytes: number
}): VNode {
  const part = first.subarray(0, HEX_BYTES)
  return html`<pre class="preview hex" tabindex="0">${hexOf(part)}</pre>
    ${part.length < sizeBytes && html`<p class="muted">The first ${bytes(part.length)} of ${bytes(sizeBytes)}.</p>`}`
}
