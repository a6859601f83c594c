// [MS-SMB2] 3.3.5.2.10: sequence numbers that increase, decrease, and wrap at 16 bits.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { beginOnChannel } from './channel-sequence.ts'
import type { ChannelState } from '../world.ts'
import { DIALECT } from '../session/dialect.ts'
import { SmbError } from '../smb-error.ts'
import { COMMAND, HEADER_FLAG } from '../wire/header.ts'

const SESSION = { dialect: DIALECT.smb311 }

function begin(channels: ChannelState, sequence: number, command: number, flags = 0): string {
  try {
    beginOnChannel(SESSION, { command, flags, status: sequence }, { channels })
    return `at ${channels.sequence}`
  } catch (error) {
    assert(error instanceof SmbError)
    return error.status
  }
}

// prettier-ignore
const TABLE: readonly (readonly [known: number, sent: number, command: keyof typeof COMMAND, becomes: string])[] = [
  [0,      0,      'WRITE',      'at 0'],
  [0,      1,      'WRITE',      'at 1'],
  [0,      0x7fff, 'WRITE',      'at 32767'],
  [0,      0x8000, 'WRITE',      'FILE_NOT_AVAILABLE'],
  [0,      0xffff, 'WRITE',      'FILE_NOT_AVAILABLE'],
  [0xffff, 0,      'WRITE',      'at 0'],
  [5,      4,      'SET_INFO',   'FILE_NOT_AVAILABLE'],
  [5,      4,      'IOCTL',      'FILE_NOT_AVAILABLE'],
  // A request that changes nothing always runs.
  [5,      4,      'READ',       'at 5'],
  [5,      4,      'QUERY_INFO', 'at 5'],
]
for (const [known, sent, command, becomes] of TABLE) {
  test(`${command} with ${sent} after ${known}: ${becomes}`, () => {
    const state = { sequence: known, current: 0, earlier: 0 }
    assert.equal(begin(state, sent, COMMAND[command]), becomes)
  })
}

test('a replay is refused while requests of earlier channels are in progress', () => {
  const channels: ChannelState = { sequence: 1, current: 0, earlier: 0 }
  const header = { command: COMMAND.WRITE, flags: 0, status: 1 }
  const end = beginOnChannel(SESSION, header, { channels })
  assert.equal(begin(channels, 2, COMMAND.READ), 'at 2')
  assert.equal(begin(channels, 2, COMMAND.WRITE, HEADER_FLAG.replay), 'FILE_NOT_AVAILABLE')
  end()
  assert.equal(begin(channels, 2, COMMAND.WRITE, HEADER_FLAG.replay), 'at 2')
})

test('SMB 2.1 ignores the channel sequence', () => {
  const channels: ChannelState = { sequence: 5, current: 0, earlier: 0 }
  const header = { command: COMMAND.WRITE, flags: 0, status: 4 }
  beginOnChannel({ dialect: DIALECT.smb210 }, header, { channels })
  assert.equal(channels.current, 0)
})
