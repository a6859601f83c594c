// A read lease or level II oplock of one SMB client is broken when another one changes the file ([MS-FSA] 2.1.4.12).
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { newFile } from '../file/file-operations.ts'
import { openRestAndSmb } from './rest-and-smb.ts'
import { ACCESS, LEASE, OPLOCK } from './client-message.ts'
import { LOCK } from './client-message-info.ts'
import type { SmbFile } from './smb-file.ts'

const world = await openRestAndSmb()

const CHANGES: Readonly<Record<string, (handle: SmbFile) => Promise<unknown>>> = {
  'a write': (handle) => handle.write(0, 'x'),
  'another length': (handle) => handle.setLength(1_000),
  'a lock': (handle) => handle.lock(0, 10, LOCK.exclusive),
}

for (const [what, change] of Object.entries(CHANGES)) {
  for (const kind of ['lease', 'oplock'] as const) {
    test(`${what} by another client breaks a read ${kind}`, async () => {
      const file = await newFile(world)
      const reader = await world.smb()
      const lease = { key: randomBytes(16), state: LEASE.R }
      const held = await reader.open(
        file.path,
        kind === 'lease' ? { lease } : { oplock: OPLOCK.ii },
      )
      const writer = await world.smb()
      const handle = await writer.open(file.path, { access: ACCESS.all })
      assert.equal(reader.breakCount, 0)
      await change(handle)
      const broken = await reader.nextBreak()
      assert.deepEqual([broken.kind, broken.to], [kind, 0])
      await held.close()
      await handle.close()
    })
  }
}
