// A URL with a signature, for whoever has no key.
import { html, useState, type VNode } from '../page/library.ts'
import { ActionButton, CopyButton } from '../page/ui/button.ts'
import { Dialog } from '../page/ui/dialog.ts'
import { Check, Field } from '../page/ui/field.ts'
import { makeSas, type SasTerms } from './parts.ts'
import type { Area, ServiceName } from './storage.ts'

type Letter = readonly [letter: string, title: string]

const LETTERS: Readonly<Record<ServiceName, readonly Letter[]>> = {
  blob: [['r', 'Read'], ['a', 'Add'], ['c', 'Create'], ['w', 'Write'], ['d', 'Delete'], ['l', 'List'], ['t', 'Tags']],
  queue: [['r', 'Read'], ['a', 'Add'], ['u', 'Update'], ['p', 'Process']],
  table: [['r', 'Query'], ['a', 'Add'], ['u', 'Update'], ['d', 'Delete']],
  file: [['r', 'Read'], ['c', 'Create'], ['w', 'Write'], ['d', 'Delete'], ['l', 'List']],
} // prettier-ignore

const EXPIRIES = [
  { value: '3600', title: 'An hour' },
  { value: '86400', title: 'A day' },
  { value: '604800', title: 'A week' },
  { value: '31536000', title: 'A year' },
]

type SasDialogProps = Pick<SasTerms, 'path' | 'snapshot' | 'versionId'> & {
  readonly area: Area
  onClose(): void
}

export function SasDialog({ area, path, snapshot, versionId, onClose }: SasDialogProps): VNode {
  const [permissions, setPermissions] = useState('r')
  const [expiry, setExpiry] = useState('3600')
  const [url, setUrl] = useState('')
  const letters = LETTERS[area.service].filter(
    ([letter]) => !(path.includes('/') && letter === 'l'),
  )
  const toggle = (letter: string, isOn: boolean): void => {
    setUrl('')
    setPermissions(isOn ? permissions + letter : permissions.replace(letter, ''))
  }
  const changeExpiry = (value: string): void => {
    setUrl('')
    setExpiry(value)
  }
  const { service, account } = area
  const make = async (): Promise<void> => {
    const terms = { service, account, path, permissions, expiresInSeconds: Number(expiry) }
    setUrl(
      await makeSas({ ...terms, ...(snapshot && { snapshot }), ...(versionId && { versionId }) }),
    )
  }
  return html`<${Dialog} title="Share with a signature" onClose=${onClose}>
    <div class="form">
      <p>
        Whoever has the URL may do this with <strong class="name">${path}</strong>, without a key:
      </p>
      <div class="checks">
        ${letters.map(([letter, title]) => html`<${Check} label=${title} isChecked=${permissions.includes(letter)} onChange=${(isOn: boolean) => toggle(letter, isOn)} />`)}
      </div>
      <${Field}
        label="It expires in"
        value=${expiry}
        choices=${EXPIRIES}
        onChange=${changeExpiry}
      />
      ${url !== '' && html`<div class="copied"><code class="long">${url}</code><${CopyButton} text=${url} label="Copy the URL" /></div>`}
      <div class="form-end">
        <${ActionButton} kind="primary" isDisabled=${permissions === ''} run=${make}
          >Make the URL<//
        >
      </div>
    </div>
  <//>`
}
