// The table of all routes below /api/. A part that the server does not have has no routes.
import {
  RACE_KINDS,
  type BarrierApi,
  type ClockApi,
  type FaultApi,
  type HeldApi,
  type SnapshotApi,
} from '../../../control/api.ts'
import {
  backupState,
  barrierList,
  barrierState,
  clockState,
  copyList,
  done,
  faultList,
  faultState,
  leaseList,
  lockList,
  messageList,
  openList,
  raceList,
  raceTest,
  resetResult,
  snapshotList,
  snapshotState,
  uncommittedList,
} from './answers.ts'
import { journalRoutes, type StreamTimes } from './journal-routes.ts'
import { overviewRoutes } from './overview-routes.ts'
import type { BackupApi, ControlParts, StatesApi } from './parts.ts'
import { ApiError, route, type ApiRoute } from './route.ts'
import { barrierRule, duration, faultRule } from './rules.ts'
import {
  about,
  choice,
  either,
  flag,
  integer,
  list,
  optional,
  record,
  text,
  yes,
} from './schema.ts'
import { storageRoutes } from './storage/storage-routes.ts'

/** A new route is a row here; its command is a row in start/steer/commands.ts. */
export function routesOf(parts: ControlParts, times: StreamTimes): readonly ApiRoute[] {
  const { journal, held, races, clock, barriers, faults, snapshots, states, backups, storage } =
    parts
  return [
    ...(parts.overview === undefined ? [] : overviewRoutes(parts.overview)),
    ...(journal === undefined ? [] : journalRoutes(journal, times)),
    ...(held === undefined ? [] : heldRoutes(held)),
    ...(races === undefined ? [] : raceRoutes(races)),
    ...(clock === undefined ? [] : clockRoutes(clock)),
    ...(barriers === undefined ? [] : barrierRoutes(barriers)),
    ...(faults === undefined ? [] : faultRoutes(faults)),
    ...(snapshots === undefined ? [] : snapshotRoutes(snapshots)),
    ...(states === undefined ? [] : stateRoutes(states)),
    ...(backups === undefined ? [] : backupRoutes(backups)),
    ...(storage === undefined ? [] : storageRoutes(storage)),
  ]
}

const heldQuery = { countMax: optional(integer(1, 10_000), 'By default 1,000.') }

// prettier-ignore
function heldRoutes(held: HeldApi): readonly ApiRoute[] {
  return [
    route({ method: 'GET', path: 'leases', description: 'The active and breaking leases.', answer: leaseList,
      query: heldQuery, run: async ({ query }) => ({ leases: await held.leases(query) }) }),
    route({ method: 'POST', path: 'leases/break', description: 'Breaks a lease at once, without a break period.',
      body: record({
        resource: about(text, '/account/container/blob'),
        kind: optional(choice(['container', 'blob', 'share', 'file']), 'Needed if a blob and a file have the same path.'),
      }), answer: done,
      run: async ({ body }) => after(held.breakLease(body.resource, body.kind)) }),
    route({ method: 'GET', path: 'messages/invisible', description: 'The messages that a receiver has got and not deleted.', answer: messageList,
      query: heldQuery, run: async ({ query }) => ({ messages: await held.invisibleMessages(query) }) }),
    route({ method: 'POST', path: 'messages/visible', description: "Makes a message visible; its receiver's receipt becomes stale.",
      body: record({ account: text, queue: text, messageId: text }), answer: done,
      run: async ({ body }) => after(held.makeVisible(body)) }),
    route({ method: 'GET', path: 'opens', description: 'What SMB clients have open.', answer: openList,
      query: heldQuery, run: async ({ query }) => ({ opens: await held.opens(query) }) }),
    route({ method: 'DELETE', path: 'opens/{id}', description: 'Closes an open of an SMB client.', answer: done,
      run: async ({ params }) => after(held.closeOpen(params.id ?? '')) }),
    route({ method: 'GET', path: 'locks', description: 'The byte-range locks of SMB clients.', answer: lockList,
      query: heldQuery, run: async ({ query }) => ({ locks: await held.locks(query) }) }),
    route({ method: 'GET', path: 'copies', description: 'The copies that are in progress.', answer: copyList,
      query: heldQuery, run: async ({ query }) => ({ copies: await held.copies(query) }) }),
    route({ method: 'GET', path: 'uncommitted', description: 'The blobs that have uncommitted blocks.', answer: uncommittedList,
      query: heldQuery, run: async ({ query }) => ({ uncommitted: await held.uncommitted(query) }) }),
  ]
}

// prettier-ignore
function raceRoutes(races: NonNullable<ControlParts['races']>): readonly ApiRoute[] {
  return [
    route({ method: 'GET', path: 'races', answer: raceList,
      description: 'The races that the entries in the journal show. With expectNoRaces, 409 with their explanations if one of them is not harmless, or if the journal is not complete.',
      query: { expectNoRaces: optional(flag) },
      run: async ({ query }) => {
        if (query.expectNoRaces === true) await orConflict(races.expectNoRaces())
        return { races: await races.races() }
      } }),
    route({ method: 'GET', path: 'races/test', description: 'A test that brings a race about.', answer: raceTest,
      query: {
        entry: optional(integer(1), 'The last entry of the race.'),
        kind: optional(choice(RACE_KINDS)),
      },
      run: async ({ query: { entry, kind } }) => {
        if (entry === undefined || kind === undefined) throw new ApiError(400, 'the fields entry and kind say which race is meant')
        return { text: await races.test({ entry, kind }) }
      } }),
  ]
}

const clockCommand = either(
  record({ hold: yes }),
  record({ advance: duration }),
  record({ set: about(text, 'A time of ISO 8601 such as 2027-01-01T00:00:00Z.') }),
  record({ run: yes }),
)

// prettier-ignore
function clockRoutes(clock: ClockApi): readonly ApiRoute[] {
  return [
    route({ method: 'GET', path: 'clock', description: "The server's clock.", answer: clockState, run: () => clock.state() }),
    route({ method: 'POST', path: 'clock', answer: clockState, body: clockCommand,
      description: 'Holds, advances or sets the clock, or lets it run. Everything that depends on time has happened when the answer comes.',
      run: ({ body }) => {
        if ('hold' in body) return clock.hold()
        if ('advance' in body) return clock.advance(body.advance)
        return 'set' in body ? clock.set(body.set) : clock.run()
      } }),
  ]
}

/** A client waits no longer than this; it may ask again. */
const WAIT_MS_MAX = 60_000

// prettier-ignore
function barrierRoutes(barriers: BarrierApi): readonly ApiRoute[] {
  const find = (id = '') => barriers.find(id) ?? missing(`there is no barrier ${id}`)
  return [
    route({ method: 'GET', path: 'barriers', description: 'The barriers and the requests that they hold.', answer: barrierList,
      run: () => ({ barriers: barriers.list() }) }),
    route({ method: 'POST', path: 'barriers', description: 'Holds matching requests at a point.', body: barrierRule, status: 201, answer: barrierState,
      run: ({ body }) => barriers.hold(body).state() }),
    route({ method: 'DELETE', path: 'barriers', description: 'Lets all requests go on and removes all barriers.', answer: done,
      run: () => nothing(barriers.clear()) }),
    route({ method: 'GET', path: 'barriers/{id}', description: 'A barrier; with held, as soon as so many requests wait.', answer: barrierState,
      query: { held: optional(integer(1)), timeLimit: optional(integer(1, WAIT_MS_MAX), 'In milliseconds; by default a minute.') },
      run: async ({ params, query }) => {
        const barrier = find(params.id)
        if (query.held !== undefined) await orConflict(barrier.held(query.held, { timeLimit: query.timeLimit ?? WAIT_MS_MAX }))
        return barrier.state()
      } }),
    route({ method: 'POST', path: 'barriers/{id}/release', answer: barrierState,
      description: 'Lets the requests of these clients go on, each when the one before has ended; without clients, all of them. The answer comes when they have ended.',
      body: record({ clients: optional(list(text, 1_000)) }),
      run: async ({ params, body }) => {
        const barrier = find(params.id)
        await orConflict(barrier.release(...(body.clients ?? [])))
        return barrier.state()
      } }),
    route({ method: 'DELETE', path: 'barriers/{id}', description: 'Lets all its requests go on and removes it.', answer: done,
      run: ({ params }) => found(barriers.remove(params.id ?? ''), `there is no barrier ${params.id}`) }),
  ]
}

// prettier-ignore
function faultRoutes(faults: FaultApi): readonly ApiRoute[] {
  return [
    route({ method: 'GET', path: 'faults', description: 'The faults and how often they have struck.', answer: faultList,
      run: () => ({ faults: faults.list() }) }),
    route({ method: 'POST', path: 'faults', description: 'Makes matching requests fail.', body: faultRule, status: 201, answer: faultState,
      run: ({ body }) => faults.add(body).state() }),
    route({ method: 'DELETE', path: 'faults', description: 'Removes all faults.', answer: done,
      run: () => nothing(faults.clear()) }),
    route({ method: 'DELETE', path: 'faults/{id}', description: 'Removes a fault.', answer: done,
      run: ({ params }) => found(faults.remove(params.id ?? ''), `there is no fault ${params.id}`) }),
  ]
}

// prettier-ignore
function snapshotRoutes(snapshots: SnapshotApi): readonly ApiRoute[] {
  return [
    route({ method: 'GET', path: 'snapshots', description: 'The saved states of the whole store.', answer: snapshotList,
      run: async () => ({ snapshots: await snapshots.list() }) }),
    route({ method: 'POST', path: 'snapshots/{name}', description: 'Saves the state of the whole store.', status: 201, answer: snapshotState,
      run: ({ params }) => snapshots.save(params.name ?? '') }),
    route({ method: 'POST', path: 'snapshots/{name}/restore', description: 'Brings a saved state back.', answer: done,
      run: ({ params }) => after(snapshots.restore(params.name ?? '')) }),
    route({ method: 'DELETE', path: 'snapshots/{name}', description: 'Deletes a saved state.', answer: done,
      run: async ({ params }) => found(await snapshots.delete(params.name ?? ''), `there is no snapshot ${params.name}`) }),
  ]
}

const folder = record({ folder: about(text, "A path on the server's machine.") })

// prettier-ignore
function stateRoutes(states: StatesApi): readonly ApiRoute[] {
  return [
    route({ method: 'POST', path: 'reset', description: 'Empties the store, or a part of it.', answer: resetResult,
      body: record({
        account: optional(text),
        service: optional(choice(['blob', 'queue', 'table', 'file'])),
        container: optional(text, 'A container, queue, table or share.'),
      }),
      run: ({ body }) => states.reset(body) }),
    route({ method: 'POST', path: 'seed', description: 'Fills the store from a folder.', body: folder, answer: done,
      run: async ({ body }) => after(states.seed(body.folder)) }),
    route({ method: 'POST', path: 'export', description: 'Writes the store into a folder, in the form that seed reads.', body: folder, answer: done,
      run: async ({ body }) => after(states.export(body.folder)) }),
  ]
}

// prettier-ignore
function backupRoutes(backups: BackupApi): readonly ApiRoute[] {
  return [
    route({ method: 'GET', path: 'backup', description: 'The backup that is running, or the last one.', answer: backupState,
      run: () => backups.state() }),
    route({ method: 'POST', path: 'backup', description: 'Starts a backup; GET tells how far it is.', status: 201, answer: backupState,
      body: record({
        place: about(text, "The absolute path of a folder or a .tar file on the server's machine."),
        location: optional(text, 'The data folder that the server must have.'),
      }),
      run: ({ body }) => backups.start(body.place, body.location) }),
    route({ method: 'DELETE', path: 'backup', description: 'Stops the backup that is running; an earlier one in the same place stays.', answer: backupState,
      run: () => backups.stop() }),
  ]
}

function nothing(_done: void): object {
  return {}
}

async function after(work: Promise<unknown>): Promise<object> {
  await work
  return {}
}

/** A wait at a barrier that is over, or a race, is an error with a sentence of its own. */
async function orConflict<T>(waiting: Promise<T>): Promise<T> {
  try {
    return await waiting
  } catch (error) {
    if (!(error instanceof Error) || 'field' in error) throw error
    throw new ApiError(409, error.message)
  }
}

function missing(message: string): never {
  throw new ApiError(404, message)
}

function found(isFound: boolean, message: string): object {
  return isFound ? {} : missing(message)
}
