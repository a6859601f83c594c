// Create Container in an account with a hierarchical namespace: a user who creates it owns the root directory.
import type { Step, Tx } from '../../kv/kv.ts'
import type { Moment } from '../../node/moment.ts'
import {
  createContainer,
  type Container,
  type ContainerAddress,
} from '../blob/container/container.ts'
import { NO_CONDITIONS } from '../shared/condition.ts'
import { setAccessControl } from './access-control.ts'
import type { Actor } from './actor.ts'

export function* createFilesystem(
  tx: Tx,
  address: ContainerAddress,
  created: Parameters<typeof createContainer>[2],
  actor: Actor,
  moment: Moment,
): Step<Container> {
  const container = yield* createContainer(tx, address, created, moment)
  if (actor.kind === 'user' && created.isHierarchical === true) {
    const { objectId } = actor
    const root = { ...address, path: '' }
    yield* setAccessControl(tx, root, ANY, { owner: objectId, group: objectId }, moment)
  }
  return container
}

const ANY = { conditions: NO_CONDITIONS, readRule: 'any' } as const
