// What one SMB client has read into a cache under a lease or an oplock of level II, it is told to give up when another
// one changes the file ([MS-FSA] 2.1.4.12).
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { newFile } from '../file/file-operations.ts'
import { openDoors, type Doors } from './both-doors.ts'
import { ACCESS, LEASE, OPLOCK } from './client-message.ts'
import { LOCK } from './client-message-info.ts'
import type { SmbFile } from './smb-file.ts'

let doors: Doors

before(async () => {
  doors = await openDoors()
})
after(() => doors.close())

const CHANGES: Readonly<Record<string, (handle: SmbFile) => Promise<unknown>>> = {
  'a write': (handle) => handle.write(0, 'x'),
  'another length': (handle) => handle.setLength(1_000),
  'a lock': (handle) => handle.lock(0, 10, LOCK.exclusive),
}

for (const [what, change] of Object.entries(CHANGES)) {
  for (const kind of ['lease', 'oplock'] as const) {
    test(`${what} of another client ends a ${kind} to read`, async () => {
      const file = await newFile(doors)
      const reader = await doors.smb()
      const lease = { key: randomBytes(16), state: LEASE.R }
      const held = await reader.open(
        file.path,
        kind === 'lease' ? { lease } : { oplock: OPLOCK.ii },
      )
      const writer = await doors.smb()
      const handle = await writer.open(file.path, { access: ACCESS.all })
      assert.equal(reader.breakCount, 0)
      await change(handle)
      const asked = await reader.nextBreak()
      assert.deepEqual([asked.kind, asked.to], [kind, 0])
      await held.close()
      await handle.close()
    })
  }
}
