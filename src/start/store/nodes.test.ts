import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClusterNode } from '../../node/cluster-node.ts'
import { listedNodes } from '../../node/node-list.ts'
import { nodeLines } from './nodes.ts'

const NOW_MS = Date.UTC(2026, 9, 1, 12)

const NODE: ClusterNode = {
  number: 7,
  name: 'a',
  version: '1.2.3',
  settings: 'secret',
  startedAtMs: NOW_MS - 3_600_000,
  seenAtMs: NOW_MS - 400,
  clockAheadMs: 12,
  beatMs: 3,
  peer: { host: '10.0.0.1', port: 10_011 },
  endpoints: [
    { service: 'blob', protocol: 'http', host: '10.0.0.1', port: 10_000 },
    { service: 'smb', protocol: 'smb', host: 'fd00::1', port: 445 },
  ],
}

const { peer: _, ...STARTING } = NODE

test('each node is a line, with its roles and addresses; silent ones are marked', () => {
  const silent = {
    ...STARTING,
    number: 12,
    name: 'longer',
    seenAtMs: NOW_MS - 5_001,
    endpoints: [],
  }
  const nodes = [NODE, { ...silent, clockAheadMs: -1_500 }]
  const listed = listedNodes(nodes, (role) => (role === 'copies' ? 12 : 7), NOW_MS)
  // prettier-ignore
  assert.deepEqual(nodeLines(listed), [
    'NODE    NUMBER  HEARTBEAT          ROLES          VERSION  STARTED               CLOCK           BEAT TAKES  PEER            SERVICES',
    'a       7       0.4 s ago          sweeper,files  1.2.3    2026-10-01T11:00:00Z  0.012 s ahead   3 ms        10.0.0.1:10011  blob=10.0.0.1:10000 smb=[fd00::1]:445',
    'longer  12      5.0 s ago, SILENT  copies         1.2.3    2026-10-01T11:00:00Z  1.500 s behind  3 ms        -               -',
  ])
})

test('a heartbeat that seems to come from the future was just now', () => {
  const [listed] = listedNodes([{ ...NODE, seenAtMs: NOW_MS + 2 }], () => undefined, NOW_MS)
  assert.deepEqual([listed?.heartbeatAgeMs, listed?.isSilent, listed?.roles], [0, false, []])
})

test('the digest of the settings is not listed', () => {
  assert.doesNotMatch(JSON.stringify(listedNodes([NODE], () => undefined, NOW_MS)), /secret/)
})

test('a cluster without nodes is no table', () => {
  assert.deepEqual(nodeLines([]), ['no node is running'])
})
