// The name of a resource as a link to its timeline. It leaves out the server's first account; the whole name is shown over it.
import { html, type VNode } from '../library.ts'
import { firstAccount } from '../live/connection.ts'
import { linkTo } from '../router.ts'

type ResourceLinkProps = {
  readonly resource: string
  /** The request that the timeline shows first. */
  readonly entry?: number | undefined
}

export function ResourceLink({ resource, entry }: ResourceLinkProps): VNode {
  const query = { resource: resource.split('?')[0], entry: entry?.toString() }
  return html`<a class="name" href=${linkTo('timeline', query)} title=${resource}
    >${shortResource(resource)}</a
  >`
}

export function shortResource(resource: string): string {
  const start = `/${firstAccount.value}/`
  return resource.startsWith(start) ? resource.slice(start.length) : resource
}
