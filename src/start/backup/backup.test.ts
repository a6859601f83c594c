// Backups of an open store: one state whatever is written meanwhile, only what is new, and valid whatever interrupts it.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync, readdirSync, existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { wholeSlice } from '../../extent/content/slice-list.ts'
import { addReferences, removeReferences } from '../../extent/content/reference.ts'
import type { Content } from '../../extent/content/slice.ts'
import { scanSteps } from '../../extent/scan.ts'
import { encodeKey } from '../../kv/key.ts'
import { prefixRange } from '../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../kv/record.ts'
import { randomFrom } from '../../../test/random.ts'
import type { Progress } from '../copy/progress.ts'
import { StartError } from '../start-error.ts'
import { checkLocation } from '../store/fsck.ts'
import { openStore, type Store } from '../store/store.ts'
import { backUp } from './backup.ts'
import type { BackupSettings } from './backup-source.ts'
import type { BackupWriter } from './files.ts'
import { liveSource } from './live-source.ts'
import { openBackup, writeBackupTo } from './open-backup.ts'
import { runRestore } from './restore.ts'
import { checkBackup } from './verify.ts'

const folders: string[] = []
after(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })))

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'lazuli-backup-'))
  folders.push(folder)
  return folder
}

const SILENT: Progress = { show: () => undefined, say: () => undefined }

function settings(more: Partial<BackupSettings> = {}): BackupSettings {
  const { signal } = new AbortController()
  return { version: '1.2.3', nowMs: () => 1_000, progress: SILENT, signal, ...more }
}

const random = randomFrom(7)

function bytesOf(lengthBytes: number): Buffer {
  return Buffer.from(Array.from({ length: lengthBytes }, () => random.below(256)))
}

async function* once(bytes: Uint8Array) {
  yield bytes
}

const at = (name: string) => encodeKey('test', name)

async function put(store: Store, name: string, bytes: Uint8Array): Promise<void> {
  const slice = await store.extents.write(once(bytes), bytes.length, [])
  const content: Content = { id: store.newId(), pieces: [wholeSlice(slice)] }
  await store.kv.write(function* (tx) {
    yield* addReferences(tx, at(name), content)
    tx.put(at(name), encodeRecord({ name, content }))
  })
}

async function remove(store: Store, name: string): Promise<void> {
  await store.kv.write(function* (tx) {
    const value = yield* tx.get(at(name))
    assert(value !== undefined)
    yield* removeReferences(tx, decodeRecord<{ content: Content }>(value).content)
    tx.delete(at(name))
  })
}

/** Names and bytes. */
async function contentsOf(store: Store): Promise<readonly string[]> {
  const lines: string[] = []
  for await (const { value } of scanSteps(store.kv, prefixRange(encodeKey('test')))) {
    const { name, content } = decodeRecord<{ name: string; content: Content }>(value)
    const chunks: Buffer[] = []
    for await (const chunk of store.extents.read(content.pieces)) chunks.push(Buffer.from(chunk))
    lines.push(`${name} ${Buffer.concat(chunks).toString('base64')}`)
  }
  return lines
}

async function opened<T>(folder: string, use: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore({ folder, pid: 1 }, Date.now)
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

function source(store: Store, folder: string) {
  const { snapshot } = store
  assert(snapshot !== undefined)
  return liveSource({ folder, store: { ...store, snapshot }, betweenSweeps: (work) => work() })
}

type Around = (writer: BackupWriter) => BackupWriter

async function backUpTo(
  place: string,
  store: Store,
  folder: string,
  around: Around = (w) => w,
  how = settings(),
) {
  // prettier-ignore
  const writer = await writeBackupTo(place)
  try {
    return await backUp(await source(store, folder), around(writer), how)
  } finally {
    await writer.close()
  }
}

async function restored(place: string): Promise<readonly string[]> {
  const folder = join(newFolder(), 'data')
  const run = { env: {}, pid: 1, progress: SILENT, signal: new AbortController().signal }
  const lines = await runRestore({ from: place, to: { folder } }, run)
  assert.equal(lines.at(-1), 'no problems')
  assert.equal((await checkLocation(folder, 1)).exitCode, 0)
  return opened(folder, contentsOf)
}

async function check(place: string): Promise<void> {
  const { files, manifest } = await openBackup(place)
  try {
    await checkBackup(files, manifest, settings())
  } finally {
    await files.close()
  }
}

const PLACES: readonly (readonly [string, () => string])[] = [
  ['a folder', () => join(newFolder(), 'backup')],
  ['a file', () => join(newFolder(), 'backup.tar')],
]

for (const [what, newPlace] of PLACES) {
  describe(`a backup in ${what}`, () => {
    test('has one state, whatever is written, deleted and swept meanwhile', async () => {
      const [folder, place] = [newFolder(), newPlace()]
      await opened(folder, async (store) => {
        for (let n = 0; n < 6; n += 1) await put(store, `before-${n}`, bytesOf(20_000 + n))
        const expected = await contentsOf(store)
        let hasChanged = false
        const change = async (): Promise<void> => {
          if (hasChanged) return
          hasChanged = true
          for (let n = 0; n < 6; n += 1) await remove(store, `before-${n}`)
          await put(store, 'after', bytesOf(30_000))
          for (let n = 0; n < 4; n += 1) await store.sweep({ graceMs: -1_000 })
        }
        await backUpTo(place, store, folder, (writer) => ({
          ...writer,
          write: async (...all) => {
            await change()
            await writer.write(...all)
          },
        }))
        assert(hasChanged)
        assert.deepEqual(await restored(place), expected)
        // The bytes are no longer kept.
        await store.sweep({ graceMs: -1_000 })
        assert.equal((await contentsOf(store)).length, 1)
      })
    })

    test('wherever it is interrupted, the earlier one stays, and the next run completes it', async () => {
      const [folder, place] = [newFolder(), newPlace()]
      await opened(folder, async (store) => {
        for (let n = 0; n < 3; n += 1) await put(store, `first-${n}`, bytesOf(20_000))
        await backUpTo(place, store, folder)
        const first = await contentsOf(store)
        await remove(store, 'first-1')
        for (let n = 0; n < 3; n += 1) await put(store, `second-${n}`, bytesOf(20_000))
        const steps = ['write 0', 'write 1', 'middle 0', 'middle 1', 'finish', 'publish']
        for (const step of steps) {
          // Otherwise the second run would find everything.
          await put(store, step, bytesOf(20_000))
          await assert.rejects(backUpTo(place, store, folder, failingAt(step)), /pulled the plug/)
          await check(place)
          assert.deepEqual(await restored(place), first, step)
        }
        await put(store, 'last', bytesOf(20_000))
        const stop = new AbortController()
        const progress: Progress = { show: (phase) => phase === 'content' && stop.abort(), say: () => undefined } // prettier-ignore
        const stopped = backUpTo(place, store, folder, (w) => w, settings({ progress, signal: stop.signal })) // prettier-ignore
        await assert.rejects(stopped, { name: 'AbortError' })
        await backUpTo(place, store, folder)
        await check(place)
        assert.deepEqual(await restored(place), await contentsOf(store))
      })
    })

    test('a change of any byte is found', async () => {
      const [folder, place] = [newFolder(), newPlace()]
      await opened(folder, async (store) => {
        await put(store, 'a', bytesOf(20_000))
        await backUpTo(place, store, folder)
      })
      await check(place)
      for (const path of filesOf(place)) {
        const bytes = readFileSync(path)
        for (let n = 0; n < 12; n += 1) {
          const changed = Buffer.from(bytes)
          const where = random.below(bytes.length)
          if (isPadding(place, bytes, where)) continue
          changed[where] = (changed[where] ?? 0) ^ 1
          writeFileSync(path, changed)
          await assert.rejects(check(place), StartError, `${path} at ${where}`)
        }
        writeFileSync(path, bytes.subarray(0, bytes.length - 1_500))
        await assert.rejects(check(place), StartError, path)
        writeFileSync(path, bytes)
        await check(place)
      }
    })
  })
}

function failingAt(step: string): Around {
  return (writer) => {
    let count = 0
    const fail = (): never => {
      throw new Error('pulled the plug')
    }
    return {
      ...writer,
      write: async (name, lengthBytes, chunks) => {
        const number = count
        count += 1
        if (step === `write ${number}`) fail()
        async function* some() {
          for await (const chunk of chunks) {
            yield chunk.subarray(0, 10)
            if (step === `middle ${number}`) fail()
            yield chunk.subarray(10)
          }
        }
        await writer.write(name, lengthBytes, some())
      },
      finish: async (manifest) => (step === 'finish' ? fail() : writer.finish(manifest)),
      publish: async (needed) => (step === 'publish' ? fail() : writer.publish(needed)),
    }
  }
}

function filesOf(place: string): readonly string[] {
  if (place.endsWith('.tar')) return [place]
  return readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== 'run')
    .map((entry) => join(entry.parentPath, entry.name))
}

/** A tar file is filled up with zeros, of which nobody reads anything but the first header at the end. */
function isPadding(place: string, bytes: Buffer, where: number): boolean {
  return place.endsWith('.tar') && bytes[where] === 0
}

test('the next backup in a folder writes only what is new', async () => {
  const [folder, place] = [newFolder(), join(newFolder(), 'backup')]
  await opened(folder, async (store) => {
    await store.kv.write(function* (tx) {
      for (let n = 0; n < 5_000; n += 1) {
        tx.put(encodeKey('filler', n), encodeRecord({ n, text: 'x'.repeat(300) }))
      }
    })
    for (let n = 0; n < 4; n += 1) await put(store, `first-${n}`, bytesOf(100_000))
    const first = await backUpTo(place, store, folder)
    assert(first.writtenBytes > 1_900_000, `${first.writtenBytes}`)
    await put(store, 'second', bytesOf(50_000))
    const second = await backUpTo(place, store, folder)
    // The new slice, and the few files of records in which something has changed.
    const contentBytes = second.manifest.contentBytes - first.manifest.contentBytes
    assert.equal(contentBytes, 50_000)
    const kept = new Set(first.manifest.records.map(({ sha256 }) => sha256))
    const changed = second.manifest.records.filter(({ sha256 }) => !kept.has(sha256))
    assert(changed.length < second.manifest.records.length, 'some records have not changed')
    const changedBytes = changed.reduce((sum, { lengthBytes }) => sum + lengthBytes, 0)
    assert(second.writtenBytes < changedBytes + 51_000, `${second.writtenBytes}`)
    assert.deepEqual(await restored(place), await contentsOf(store))
    // What is no longer needed goes away.
    for (let n = 0; n < 4; n += 1) await remove(store, `first-${n}`)
    const third = await backUpTo(place, store, folder)
    assert.equal(third.manifest.contentBytes, 50_000)
    const sizes = (await openBackup(place)).files
    const names = [...(await sizes.list()).keys()].filter((name) => name.startsWith('extents/'))
    assert.equal(names.length, third.manifest.segments.length)
    assert.deepEqual(await restored(place), await contentsOf(store))
  })
})

test('an interrupted backup to a folder is continued: what it has copied is not copied again', async () => {
  const [folder, place] = [newFolder(), join(newFolder(), 'backup')]
  await opened(folder, async (store) => {
    await put(store, 'a', bytesOf(200_000))
    await assert.rejects(backUpTo(place, store, folder, failingAt('finish')), /plug/)
    await assert.rejects(openBackup(place), /is not a complete backup/)
    const { writtenBytes } = await backUpTo(place, store, folder)
    assert(writtenBytes < 10_000, `${writtenBytes}`)
    await check(place)
  })
})

test('a folder with anything else is refused, and so is a backup of another store', async () => {
  const [folder, other, place] = [newFolder(), newFolder(), join(newFolder(), 'backup')]
  await opened(folder, (store) => backUpTo(place, store, folder))
  await assert.rejects(
    opened(other, (store) => backUpTo(place, store, other)),
    /has a backup of another store .*choose another place/,
  )
  const full = newFolder()
  writeFileSync(join(full, 'letter.txt'), 'dear')
  await assert.rejects(
    opened(folder, (store) => backUpTo(full, store, folder)),
    /has other files, such as letter.txt; choose an empty one/,
  )
  await assert.rejects(
    opened(folder, (store) => backUpTo(other, store, folder)),
    /has other files/,
  )
  assert.deepEqual(readdirSync(full), ['letter.txt'])
})

test('two backups to one folder: the first gives up', async () => {
  const [folder, place] = [newFolder(), join(newFolder(), 'backup')]
  await opened(folder, async (store) => {
    await put(store, 'a', bytesOf(20_000))
    let hasBegun = false
    const first = backUpTo(place, store, folder, (writer) => ({
      ...writer,
      finish: async (manifest) => {
        if (!hasBegun) {
          hasBegun = true
          await backUpTo(place, store, folder)
        }
        await writer.finish(manifest)
      },
    }))
    await assert.rejects(first, /another backup to .* has begun; this one gives up/)
    await check(place)
  })
})

test('a damaged slice fails the backup, with a line that says what to do', async () => {
  const [folder, place] = [newFolder(), join(newFolder(), 'backup')]
  await opened(folder, (store) => put(store, 'a', bytesOf(20_000)))
  const extent = join(folder, 'extents', '00000000000001.extent')
  const bytes = readFileSync(extent)
  bytes[100] = (bytes[100] ?? 0) ^ 1
  writeFileSync(extent, bytes)
  await assert.rejects(
    opened(folder, (store) => backUpTo(place, store, folder)),
    /the store is damaged \(extent 1, offset 0\).*lazuli fsck says what/,
  )
  assert(!existsSync(join(place, 'backup.json')))
})
