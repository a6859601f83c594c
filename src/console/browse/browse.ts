// The page Browse: #/browse/blob/account/container?prefix=a/&item=a/b shows what an account stores.
import type { Overview } from '../../control/overview.ts'
import { html, useState, type VNode } from '../page/library.ts'
import { useAnswer } from '../page/live/query.ts'
import { goTo, linkTo, place } from '../page/router.ts'
import { Field } from '../page/ui/field.ts'
import { Empty, shown } from '../page/ui/states.ts'
import { BlobsView } from './blob/blobs.ts'
import { UndoBar } from './parts.ts'
import { QueueView } from './queue/queue.ts'
import { Resources } from './resources.ts'
import { ShareView } from './share/share.ts'
import type { Area, ServiceName } from './storage.ts'
import { TableView } from './table/table.ts'

export const SERVICES: readonly { readonly name: ServiceName; readonly title: string }[] = [
  { name: 'blob', title: 'Blobs' },
  { name: 'queue', title: 'Queues' },
  { name: 'table', title: 'Tables' },
  { name: 'file', title: 'Shares' },
]

export function BrowsePage({ rest }: { readonly rest: string }): VNode {
  const { answer } = useAnswer<Overview>('overview')
  return html`${shown(answer.value, (overview) => html`<${Areas} rest=${rest} overview=${overview} />`)}`
}

function Areas({ rest, overview }: { readonly rest: string; readonly overview: Overview }): VNode {
  const offered = SERVICES.filter(({ name }) =>
    overview.endpoints.some(({ service }) => service === name),
  )
  const [service = offered[0]?.name ?? 'blob', account = overview.accounts[0] ?? '', name = ''] =
    rest === '' ? [] : rest.split('/')
  const own = offered.find((each) => each.name === service)
  return html`
    <div class="page-head">
      <h1>Browse</h1>
      ${
        overview.accounts.length > 1 &&
        html`<${Field}
          label="Account"
          hasHiddenLabel=${true}
          value=${account}
          choices=${overview.accounts}
          onChange=${(chosen: string) => goTo(`browse/${service}/${chosen}`)}
        />`
      }
    </div>
    <nav class="services" aria-label="Services">
      ${offered.map(
        (each) =>
          html`<a
            href=${linkTo(`browse/${each.name}/${account}`)}
            aria-current=${each === own ? 'page' : undefined}
            >${each.title}</a
          >`,
      )}
    </nav>
    <${UndoBar} />
    ${
      own === undefined || !overview.accounts.includes(account)
        ? html`<${Empty} icon="warning" title="There is nothing here"
            >This server has no such account or service.<//
          >`
        : html`<${Content}
            key=${`${service}/${account}/${name}`}
            area=${{ service: own.name, account }}
            title=${own.title}
            name=${decodeURIComponent(name)}
            endpoint=${overview.endpoints.find((each) => each.service === service)?.url ?? ''}
          />`
    }
  `
}

type ContentProps = {
  readonly area: Area
  readonly title: string
  /** Of the container, queue, table or share; empty: the list of them. */
  readonly name: string
  readonly endpoint: string
}

const VIEWS = { blob: BlobsView, queue: QueueView, table: TableView, file: ShareView } as const

function Content({ area: given, title, name, endpoint }: ContentProps): VNode {
  const [area] = useState(given)
  if (name === '') return html`<${Resources} area=${area} title=${title} />`
  return html`
    <nav class="crumbs" aria-label="Where you are">
      <a href=${linkTo(`browse/${area.service}/${area.account}`)}>${title}</a>
      <${Crumbs} area=${area} name=${name} />
    </nav>
    <${VIEWS[area.service]} area=${area} name=${name} endpoint=${endpoint} />
  `
}

/** The container, and the folders down to the one that is shown. */
function Crumbs({ area, name }: Pick<ContentProps, 'area' | 'name'>): VNode {
  const { query } = place.value
  const path = `browse/${area.service}/${area.account}/${encodeURIComponent(name)}`
  const folders = (query.get('prefix') ?? '').split('/').slice(0, -1)
  const steps = [
    { title: name, link: linkTo(path, { snapshot: query.get('snapshot') ?? undefined }) },
    ...folders.map((title, at) => ({
      title: title === '' ? '/' : title,
      link: linkTo(path, {
        prefix: `${folders.slice(0, at + 1).join('/')}/`,
        snapshot: query.get('snapshot') ?? undefined,
      }),
    })),
  ]
  return html`${steps.map(({ title, link }, at) => html`<span aria-hidden="true">/</span><a href=${link} aria-current=${at === steps.length - 1 ? 'page' : undefined}>${title}</a>`)}`
}
