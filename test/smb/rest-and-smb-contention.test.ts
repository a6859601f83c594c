// Many REST and SMB clients write one file at once: every read sees each write completely or not at all, and no
// answered write is lost.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newFile } from '../file/file-operations.ts'
import { openRestAndSmb } from './rest-and-smb.ts'
import { ACCESS } from './client-message.ts'

const world = await openRestAndSmb()

const WRITERS = 4
const ROUNDS = 25

/** The letter that a writer repeats in one round. */
function letterOf(writer: number, round: number): string {
  return String.fromCharCode(0x41 + ((writer * 7 + round) % 26))
}

/** Small writes are stored in the kv, large ones in extents. */
for (const lengthBytes of [512, 20_000, 200_000]) {
  test(`writes of ${lengthBytes} bytes to the same range are never torn`, async () => {
    const file = await newFile(world)
    await file.resize(lengthBytes)
    const rest = Array.from({ length: WRITERS }, async (_, writer) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        await file.uploadRange(letterOf(writer, round).repeat(lengthBytes), 0, lengthBytes)
      }
    })
    const smb = Array.from({ length: WRITERS }, async (_, writer) => {
      const handle = await (await world.smb()).open(file.path, { access: ACCESS.all })
      for (let round = 0; round < ROUNDS; round += 1) {
        await handle.write(0, letterOf(WRITERS + writer, round).repeat(lengthBytes))
        const seen = await handle.read(0, lengthBytes)
        assert.equal(new Set(seen).size, 1, 'SMB reads a torn write')
      }
    })
    const reader = (async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const seen = await file.downloadToBuffer(0, lengthBytes)
        // The file has zeros before the first write.
        assert.equal(new Set(seen).size, 1, 'REST reads a torn write')
      }
    })()
    await Promise.all([...rest, ...smb, reader])
    const last = await file.downloadToBuffer(0, lengthBytes)
    assert.match(String(last.subarray(0, 1)), /[A-Z]/)
    assert.equal(new Set(last).size, 1)
  })
}

test('no write to a separate range is lost, and each changes the ETag', async () => {
  const slotBytes = 1_000
  const file = await newFile(world)
  await file.resize(2 * WRITERS * slotBytes)
  const etags = new Set<string | undefined>()
  const slotOf = (writer: number) => writer * slotBytes
  const contentOf = (writer: number) => letterOf(writer, ROUNDS).repeat(slotBytes)
  await Promise.all(
    Array.from({ length: WRITERS }, async (_, i) => {
      const handle = await (await world.smb()).open(file.path, { access: ACCESS.all })
      for (let round = 0; round <= ROUNDS; round += 1) {
        const [own, other] = [2 * i, 2 * i + 1]
        await handle.write(slotOf(own), letterOf(own, round).repeat(slotBytes))
        const text = letterOf(other, round).repeat(slotBytes)
        const { etag } = await file.uploadRange(text, slotOf(other), slotBytes)
        assert.equal(etags.has(etag), false)
        etags.add(etag)
      }
    }),
  )
  const seen = await file.downloadToBuffer()
  for (let writer = 0; writer < 2 * WRITERS; writer += 1) {
    const slot = seen.subarray(slotOf(writer), slotOf(writer) + slotBytes)
    assert.equal(String(slot), contentOf(writer))
  }
})

test('the length that REST reads during appends by SMB is consistent', async () => {
  const file = await newFile(world)
  await file.resize(0)
  const lineBytes = 10
  await Promise.all(
    Array.from({ length: WRITERS }, async (_, writer) => {
      const handle = await (await world.smb()).open(file.path, { access: ACCESS.append })
      for (let round = 0; round < ROUNDS; round += 1) {
        await handle.write(0, `${letterOf(writer, 0).repeat(lineBytes - 1)}\n`)
        const { contentLength = 0 } = await file.getProperties()
        assert.equal(contentLength % lineBytes, 0)
      }
    }),
  )
  const lines = String(await file.downloadToBuffer())
    .trimEnd()
    .split('\n')
  assert.equal(lines.length, WRITERS * ROUNDS)
  assert(lines.every((line) => line.length === lineBytes - 1 && new Set(line).size === 1))
})
