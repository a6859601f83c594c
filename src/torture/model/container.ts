// One container: whether it exists, its metadata and its lease, which guards only its deletion.
import { retagged, revealed, tagOf } from './condition.ts'
import { isLeaseAction, leaseOutcomes, leaseUses, type Lease } from './lease.ts'
import { refusal, WRONG, type Model, type Outcome, type Refused } from './model.ts'

type Container = { readonly etag?: string; readonly metadata: string; readonly lease?: Lease }

export type ContainerState = { readonly container?: Container }

const CODES = {
  absent: 'LeaseNotPresentWithContainerOperation',
  mismatch: 'LeaseIdMismatchWithContainerOperation',
}

const NOT_FOUND: Refused = [404, 'ContainerNotFound']

const STATUS: Readonly<Record<string, number>> = { get: 200, setMetadata: 200, delete: 202 }

export function containerModel(slackMs: number): Model<ContainerState> {
  return {
    initial: {},
    reads: new Set(['get']),
    outcomes: (state, operation, moment) => {
      const { container } = state
      if (operation.name === 'create') return create(state)
      const status = STATUS[operation.name]
      if (status === undefined && !isLeaseAction(operation)) return []
      if (container === undefined) return [refusal(state, NOT_FOUND)]
      const keep = (lease: Lease | undefined) => withLease(container, lease)
      if (status === undefined)
        return leaseOutcomes(container.lease, operation, moment, slackMs, keep)
      const kind = operation.name === 'delete' ? 'write' : 'read'
      const use = { kind, id: operation.lease } as const
      return leaseUses(container.lease, use, CODES, moment).map(({ lease, refused }) => {
        if (refused !== undefined) return refusal(keep(lease), refused)
        const isRead = operation.name === 'get'
        const { metadata } = container
        return {
          status,
          shows: isRead ? { ...tagOf(container), metadata } : {},
          next: (answer): ContainerState | typeof WRONG => {
            if (operation.name === 'delete') return {}
            const after = isRead
              ? revealed(container, answer)
              : retagged(container, { ...container, metadata: operation.value ?? '' }, answer)
            return after === WRONG ? WRONG : withLease(after, lease)
          },
        }
      })
    },
  }
}

function withLease(container: Container, lease: Lease | undefined): ContainerState {
  const { lease: _, ...rest } = container
  return { container: { ...rest, ...(lease !== undefined && { lease }) } }
}

/** For some time after a deletion, the name can't be used again. */
function create(state: ContainerState): readonly Outcome<ContainerState>[] {
  if (state.container !== undefined) return [refusal(state, [409, 'ContainerAlreadyExists'])]
  return [
    refusal(state, [409, 'ContainerBeingDeleted']),
    {
      status: 201,
      next: (answer) => {
        const container = retagged(undefined, { metadata: '' }, answer)
        return container === WRONG ? WRONG : { container }
      },
    },
  ]
}
