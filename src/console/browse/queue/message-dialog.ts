// The text of a message, also if a client has encoded it.
import { html, type VNode } from '../../page/library.ts'
import { CopyButton } from '../../page/ui/button.ts'
import { Dialog } from '../../page/ui/dialog.ts'
import { FactList } from '../parts.ts'
import { prettyJson } from '../preview-text.ts'
import { when } from '../resources.ts'
import type { Message } from './message.ts'

type MessageDialogProps = { readonly message: Message; onClose(): void }

export function MessageDialog({ message, onClose }: MessageDialogProps): VNode {
  const { id, text, inserted, expires, dequeueCount } = message
  const decoded = decodedText(text)
  return html`<${Dialog} title="Message" isWide=${true} onClose=${onClose}>
    <${FactList}
      facts=${[
        [
          'Id',
          html`<span class="copied"
            ><code>${id}</code><${CopyButton} text=${id} label="Copy the id"
          /></span>`,
        ],
        ['Put', when(inserted)],
        ['Expires', when(expires)],
        ['Got', `${dequeueCount} times`],
      ]}
    />
    <h3>Text</h3>
    <pre class="preview" tabindex="0">${prettyJson(text) ?? text}</pre>
    ${
      decoded !== undefined &&
      html`<h3>Decoded from Base64</h3>
        <pre class="preview" tabindex="0">${prettyJson(decoded) ?? decoded}</pre>`
    }
  <//>`
}

/** undefined: it is not text in Base64, as far as one can tell. */
function decodedText(text: string): string | undefined {
  if (text.length < 8 || text.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text))
    return undefined
  try {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
    const decoded = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return /\p{Cc}/u.test(decoded.replaceAll(/[\r\n\t]/g, '')) ? undefined : decoded
  } catch {
    return undefined
  }
}
