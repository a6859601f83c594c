// Uploads: chosen with a dialog or dropped, with progress, one list for all pages. An upload goes on while its page is left.
import { messageOf } from '../page/api/call.ts'
import {
  html,
  signal,
  useRef,
  useState,
  type ComponentChildren,
  type VNode,
} from '../page/library.ts'
import { Button } from '../page/ui/button.ts'
import { bytes } from '../page/ui/format.ts'
import { failureOf, headersOf, urlOf, type Area, type Ask } from './storage.ts'

type State = 'running' | 'done' | 'exists' | 'failed'

export type Upload = {
  readonly id: number
  /** `account/service/container/name` */
  readonly target: string
  readonly sizeBytes: number
  readonly sentBytes: number
  readonly state: State
  readonly failure?: string
  readonly retry?: () => void
  readonly stop: () => void
}

export const uploads = signal<readonly Upload[]>([])

let nextId = 1

/** Something with the name is there already; it goes on if somebody says so. */
export class Exists extends Error {
  readonly overwrite: Transfer

  constructor(overwrite: Transfer) {
    super('It is there already.')
    this.overwrite = overwrite
  }
}

export type Transfer = (
  progress: (sentBytes: number) => void,
  signal: AbortSignal,
) => Promise<unknown>

export function startUpload(target: string, sizeBytes: number, transfer: Transfer): void {
  const id = nextId++
  const stopping = new AbortController()
  const stop = (): void => {
    stopping.abort()
    uploads.value = uploads.value.filter((each) => each.id !== id)
  }
  const change = (part: Partial<Upload>): void => {
    uploads.value = uploads.value.map((each) => (each.id === id ? { ...each, ...part } : each))
  }
  const run = async (own: Transfer): Promise<void> => {
    change({ state: 'running', sentBytes: 0 })
    try {
      await own((sentBytes) => change({ sentBytes }), stopping.signal)
      change({ state: 'done', sentBytes: sizeBytes })
    } catch (error) {
      if (error instanceof Exists)
        change({ state: 'exists', retry: () => void run(error.overwrite) })
      else change({ state: 'failed', failure: messageOf(error), retry: () => void run(transfer) })
    }
  }
  uploads.value = [
    ...uploads.value,
    { id, target, sizeBytes, sentBytes: 0, state: 'running', stop },
  ]
  void run(transfer)
}

/** As `ask`, with progress: fetch tells nothing of what has been sent. */
export function sendWithProgress(
  area: Area,
  request: Ask & { readonly body: Blob },
  progress: (sentBytes: number) => void,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const sending = new XMLHttpRequest()
    sending.open(request.method ?? 'PUT', urlOf(area, request))
    for (const [name, value] of Object.entries(headersOf(request)))
      sending.setRequestHeader(name, value)
    sending.upload.addEventListener('progress', ({ loaded }) => progress(loaded))
    sending.addEventListener('load', () => {
      const { status, responseText } = sending
      if (status >= 200 && status < 300) resolve()
      else
        reject(failureOf(status, sending.getResponseHeader('x-ms-error-code') ?? '', responseText))
    })
    sending.addEventListener('error', () => reject(new Error('The connection was lost.')))
    sending.addEventListener('abort', () => reject(new Error('Stopped.')))
    signal.addEventListener('abort', () => sending.abort())
    if (signal.aborted) reject(new Error('Stopped.'))
    else sending.send(request.body)
  })
}

/** Some pieces at a time. */
const AT_ONCE = 3

export type Piece = { readonly at: number; readonly offset: number; readonly content: Blob }

/** Sends a long content in pieces, and counts what has been sent of all of them. */
export async function sendPieces(
  content: Blob,
  pieceBytes: number,
  send: (piece: Piece, progress: (sentBytes: number) => void) => Promise<unknown>,
  progress: (sentBytes: number) => void,
): Promise<number> {
  const count = Math.ceil(content.size / pieceBytes)
  const sent: number[] = Array.from({ length: count }, () => 0)
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < count) {
      const at = next++
      const offset = at * pieceBytes
      const piece = { at, offset, content: content.slice(offset, offset + pieceBytes) }
      await send(piece, (sentBytes) => {
        sent[at] = sentBytes
        progress(sent.reduce((sum, each) => sum + each, 0))
      })
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return count
}

export function Uploads({ under }: { readonly under: string }): VNode {
  const own = uploads.value.filter(({ target }) => target.startsWith(under))
  if (own.length === 0) return html``
  return html`<ul class="uploads plain" aria-label="Uploads">
    ${own.map((upload) => html`<${UploadRow} key=${upload.id} upload=${upload} under=${under} />`)}
  </ul>`
}

function UploadRow({ upload, under }: { readonly upload: Upload; readonly under: string }): VNode {
  const { target, sizeBytes, sentBytes, state, failure, retry, stop } = upload
  const name = target.slice(under.length)
  return html`<li class=${`upload ${state}`}>
    <span class="name">${name}</span>
    ${
      state === 'running' &&
      html`<progress
          aria-label=${`Upload of ${name}`}
          max=${Math.max(sizeBytes, 1)}
          value=${sentBytes}
        ></progress>
        <span class="muted">${bytes(sentBytes)} of ${bytes(sizeBytes)}</span>`
    }
    ${state === 'done' && html`<span class="good-text" role="status">Uploaded, ${bytes(sizeBytes)}</span>`}
    ${state === 'exists' && html`<span role="alert">There is one with this name already.</span><${Button} kind="danger" onClick=${retry}>Overwrite<//>`}
    ${state === 'failed' && html`<span class="bad-text" role="alert">${failure}</span><${Button} onClick=${retry}>Try again<//>`}
    <${Button}
      icon="close"
      kind="quiet"
      label=${state === 'running' ? `Stop the upload of ${name}` : `Dismiss ${name}`}
      onClick=${stop}
    />
  </li>`
}

type FilesProps = { onFiles(files: readonly File[]): void; readonly children?: ComponentChildren }

export function UploadButton({ onFiles }: FilesProps): VNode {
  const input = useRef<HTMLInputElement | null>(null)
  const onChange = (): void => {
    onFiles([...(input.current?.files ?? [])])
    if (input.current !== null) input.current.value = ''
  }
  return html`<${Button} icon="upload" kind="primary" onClick=${() => input.current?.click()}
      >Upload<//
    >
    <input
      type="file"
      multiple
      hidden
      aria-label="Files to upload"
      ref=${input}
      onChange=${onChange}
    />`
}

export function DropZone({ onFiles, children }: FilesProps): VNode {
  const [isOver, setOver] = useState(false)
  const over = (event: DragEvent): void => {
    if (event.dataTransfer?.types.includes('Files') !== true) return
    event.preventDefault()
    setOver(true)
  }
  const drop = (event: DragEvent): void => {
    event.preventDefault()
    setOver(false)
    onFiles([...(event.dataTransfer?.files ?? [])])
  }
  return html`<div
    class=${isOver ? 'drop-zone over' : 'drop-zone'}
    onDragOver=${over}
    onDragLeave=${() => setOver(false)}
    onDrop=${drop}
  >
    ${children}
  </div>`
}
