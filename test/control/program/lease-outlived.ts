// Leases that were outlived. Each in a wrong form that has the race and in a right form that has none.
import {
  LEASE,
  OTHER_LEASE,
  put,
  get,
  lease,
  leaseContainer,
  held,
  refused,
  type RaceProgram,
} from './requests.ts'

export const OUTLIVED_LEASES: readonly RaceProgram[] = [
  {
    kind: 'lease outlived',
    name: 'a write after another client has taken the lease',
    says: /"A" had a lease .*It expired, and "B" took its place .*LeaseIdMismatchWithBlobOperation/,
    async wrong({ client, server }) {
      const [a, b] = [client('A'), client('B')]
      await put(a, '1')
      await lease(a, 'acquire')
      server.advance(20_000)
      await lease(b, 'acquire', OTHER_LEASE)
      await refused(put(a, '2', held()), 412)
    },
    async right({ client, server }) {
      const [a, b] = [client('A'), client('B')]
      await put(a, '1')
      await lease(a, 'acquire')
      server.advance(7_000)
      await lease(a, 'renew')
      server.advance(7_000)
      await put(a, '2', held())
      await lease(a, 'release')
      await lease(b, 'acquire', OTHER_LEASE)
    },
  },
  {
    kind: 'lease outlived',
    name: 'a write after the lease was broken',
    says: /It was broken, and "B" took its place/,
    async wrong({ client, server }) {
      const [a, b] = [client('A'), client('B')]
      await put(a, '1')
      await lease(a, 'acquire')
      await b.blob('PUT', '/box/doc?comp=lease', {
        'x-ms-lease-action': 'break',
        'x-ms-lease-break-period': '0',
      })
      server.advance(1)
      await refused(put(a, '2', held()), 412)
    },
    async right({ client, server }) {
      const [a, b] = [client('A'), client('B')]
      await put(a, '1')
      await lease(a, 'acquire')
      await b.blob('PUT', '/box/doc?comp=lease', {
        'x-ms-lease-action': 'break',
        'x-ms-lease-break-period': '0',
      })
      server.advance(1)
      // This is how a holder learns of it.
      await refused(lease(a, 'renew'), 409)
    },
  },
  {
    kind: 'lease outlived',
    name: 'a write without the id of a lease that has expired',
    says: /never released it. It expired and "B" came in between .*without the lease's id/,
    async wrong({ client, server }) {
      const [a, b] = [client('A'), client('B')]
      await put(a, '1')
      await lease(a, 'acquire')
      server.advance(20_000)
      await put(b, '2')
      await get(a)
      await put(a, '3')
    },
    async right({ client, server }) {
      const [a, b] = [client('A'), client('B')]
      await put(a, '1')
      await lease(a, 'acquire')
      server.advance(5_000)
      await lease(a, 'release')
      server.advance(20_000)
      await put(b, '2')
      await get(a)
      await put(a, '3')
    },
  },
  {
    kind: 'lease outlived',
    name: 'a lease on a container',
    says: /LeaseIdMismatchWithContainerOperation/,
    async wrong({ client, server }) {
      const [a, b] = [client('A'), client('B')]
      await leaseContainer(a, LEASE)
      server.advance(16_000)
      await leaseContainer(b, OTHER_LEASE)
      await refused(a.blob('DELETE', '/box?restype=container', held()), 412)
    },
    async right({ client, server }) {
      const [a, b] = [client('A'), client('B')]
      await leaseContainer(a, LEASE)
      server.advance(14_000)
      await refused(leaseContainer(b, OTHER_LEASE), 409)
      await a.blob('DELETE', '/box?restype=container', held())
    },
  },
  {
    kind: 'lease outlived',
    name: 'a deletion with the lease is its end',
    says: /It expired/,
    async wrong({ client, server }) {
      const a = client('A')
      await put(a, '1')
      await lease(a, 'acquire')
      server.advance(20_000)
      await refused(put(a, '2', held()), 412)
    },
    async right({ client, server }) {
      const a = client('A')
      await put(a, '1')
      await lease(a, 'acquire')
      await a.blob('DELETE', '/box/doc', held())
      server.advance(20_000)
      await put(a, '2')
      await refused(put(a, '3', held()), 412)
    },
  },
  {
    kind: 'lease outlived',
    name: 'a renewal at the last moment',
    says: /with 1 s of its 15 s left.*at half its time/,
    async wrong({ client, server }) {
      const a = client('A')
      await put(a, '1')
      await lease(a, 'acquire')
      server.advance(14_000)
      await lease(a, 'renew')
    },
    async right({ client, server }) {
      const a = client('A')
      await put(a, '1')
      await lease(a, 'acquire')
      server.advance(13_000)
      await lease(a, 'renew')
    },
  },
]
