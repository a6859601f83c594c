// The index tags of a blob.
import { messageOf } from '../../page/api/call.ts'
import { html, useEffect, useState, type VNode } from '../../page/library.ts'
import { Failure, Loading } from '../../page/ui/states.ts'
import { PairsForm } from '../parts.ts'
import { ask } from '../storage.ts'
import { askXml, childrenOf, childOf, escaped, textAt } from '../xml.ts'
import type { BlobProps } from './blob-list.ts'

type Tags = Readonly<Record<string, string>>

export function TagsPanel({ area, container, blob }: BlobProps): VNode {
  const [tags, setTags] = useState<Tags | undefined>(undefined)
  const [failure, setFailure] = useState<string | undefined>(undefined)
  const asked = { path: [container, blob], query: { comp: 'tags' } }
  const load = (): Promise<void> =>
    askXml(area, asked).then(
      (list) => {
        const all = childrenOf(childOf(list, 'TagSet'), 'Tag')
        setTags(Object.fromEntries(all.map((tag) => [textAt(tag, 'Key'), textAt(tag, 'Value')])))
      },
      (error: unknown) => setFailure(messageOf(error)),
    )
  useEffect(() => void load(), [])
  const save = async (changed: Tags): Promise<void> => {
    const set = Object.entries(changed).map(
      ([key, value]) => `<Tag><Key>${escaped(key)}</Key><Value>${escaped(value)}</Value></Tag>`,
    )
    const body = `<?xml version="1.0" encoding="utf-8"?><Tags><TagSet>${set.join('')}</TagSet></Tags>`
    await ask(area, {
      ...asked,
      method: 'PUT',
      headers: { 'Content-Type': 'application/xml' },
      body,
    })
    await load()
  }
  if (failure !== undefined) return html`<${Failure}>${failure}<//>`
  if (tags === undefined) return html`<${Loading} />`
  return html`<${PairsForm} key=${JSON.stringify(tags)} label="Tags" known=${tags} save=${save} />`
}
