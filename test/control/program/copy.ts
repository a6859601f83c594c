// Copies over what others wrote. Each in a wrong form that has the race and in a right form that has none.
import { etagOf, get, put, refused, type RaceProgram } from './requests.ts'
import type { RaceClient, RaceWorld } from '../race-client.ts'

const copy = ({ server }: RaceWorld, client: RaceClient, headers: Record<string, string> = {}) =>
  client.blob('PUT', '/box/doc', {
    'x-ms-copy-source': `${server.blobEndpoint}/box/template`,
    ...headers,
  })

const template = (client: RaceClient) =>
  client.blob('PUT', '/box/template', { 'x-ms-blob-type': 'BlockBlob' }, 'template')

export const COPY_RACES: readonly RaceProgram[] = [
  {
    kind: 'lost update',
    name: 'a copy over a blob that was read',
    says: /"A" read .*"B" changed it .*"A" overwrote it .*Copy Blob/,
    async wrong(world) {
      const [a, b] = [world.client('A'), world.client('B')]
      await Promise.all([template(b), put(b, '1')])
      await get(a)
      await put(b, '2')
      await copy(world, a)
    },
    async right(world) {
      const [a, b] = [world.client('A'), world.client('B')]
      await Promise.all([template(b), put(b, '1')])
      const read = etagOf(await get(a))
      await put(b, '2')
      await refused(copy(world, a, { 'if-match': read }), 412)
    },
  },
  {
    kind: 'lost update',
    name: 'what a copy wrote is overwritten',
    says: /"B" changed it \(entry \d+, Copy Blob/,
    async wrong(world) {
      const [a, b] = [world.client('A'), world.client('B')]
      await Promise.all([template(b), put(b, '1')])
      await get(a)
      await copy(world, b)
      await put(a, '2')
    },
    async right(world) {
      const [a, b] = [world.client('A'), world.client('B')]
      await Promise.all([template(b), put(b, '1')])
      await copy(world, b)
      await get(a)
      await put(a, '2')
    },
  },
]
