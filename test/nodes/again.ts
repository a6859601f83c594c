// Runs test files again with three nodes in place of each server that they start.
import { test } from 'node:test'
import { SKIP_REASON } from '../../src/postgres/harness.ts'
import { setServer } from '../harness.ts'
import { setTestServer } from '../running-server.ts'
import { runAgain } from '../variants/again.ts'
import { runNodes, startNodes } from './as-server.ts'

export async function runOnNodes(pattern: string): Promise<void> {
  if (SKIP_REASON !== undefined) {
    test(`${pattern} on three nodes`, { skip: SKIP_REASON }, () => {})
    return
  }
  setServer(startNodes)
  setTestServer(runNodes)
  await runAgain(pattern)
}
