// A backup in one file: a tar file with the same files as a folder, the manifest last. It is written whole beside the earlier
// one and then renamed, so there is never half a backup under its name.
import { rename, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { nodeDisk } from '../../extent/file/disk.ts'
import { errorReason, StartError } from '../start-error.ts'
import { BackupDamaged, type BackupFiles, type BackupWriter } from './files.ts'
import { MANIFEST_NAME } from './manifest.ts'
import { OpenFiles } from './open-files.ts'
import { decodeTarHeader, encodeTarHeader, TAR_BLOCK_BYTES, tarBytes } from './tar.ts'

/** Where the bytes of a file are inside the tar file. */
type Member = { readonly offset: number; readonly lengthBytes: number }

const DRAFT = '.new'

export async function openTarFile(path: string): Promise<BackupFiles> {
  const files = new OpenFiles(() => path)
  const members = await readMembers(path, files).catch(async (error: unknown) => {
    await files.close()
    throw error
  })
  return membersOf(path, files, members)
}

function membersOf(
  text: string,
  files: OpenFiles,
  members: ReadonlyMap<string, Member>,
): BackupFiles {
  return {
    text,
    list: async () => new Map([...members].map(([name, member]) => [name, member.lengthBytes])),
    read: async (name, offset, lengthBytes) => {
      const member = members.get(name)
      if (member === undefined) throw new BackupDamaged(`${name} is missing`)
      if (offset + lengthBytes > member.lengthBytes) {
        throw new BackupDamaged(`${name} ends at byte ${member.lengthBytes}`)
      }
      return files.read('', member.offset + offset, lengthBytes)
    },
    close: () => files.close(),
  }
}

async function readMembers(path: string, files: OpenFiles): Promise<ReadonlyMap<string, Member>> {
  const sizeBytes = (await nodeDisk.sizeBytes(path)) ?? 0
  const members = new Map<string, Member>()
  for (let at = 0; at + TAR_BLOCK_BYTES <= sizeBytes;) {
    const header = decodeTarHeader(await files.read('', at, TAR_BLOCK_BYTES))
    if (header === undefined) break
    const offset = at + TAR_BLOCK_BYTES
    if (header === 'damaged' || !(header.lengthBytes <= sizeBytes - offset)) {
      throw new StartError(`${path} is no backup, or it is damaged at byte ${at}`)
    }
    members.set(header.name, { offset, lengthBytes: header.lengthBytes })
    at = offset + tarBytes(header.lengthBytes)
  }
  return members
}

/** Throws StartError if the file can't be written. */
export async function writeTarFile(path: string): Promise<BackupWriter> {
  const draft = path + DRAFT
  const fd = await createDraft(draft, path)
  const { ino } = await stat(draft)
  const files = new OpenFiles(() => draft)
  const members = new Map<string, Member>()
  let position = 0
  const append = async (chunk: Uint8Array): Promise<void> => {
    await nodeDisk.write(fd, [chunk], position)
    position += chunk.length
  }
  const write: BackupWriter['write'] = async (name, lengthBytes, chunks) => {
    await append(encodeTarHeader({ name, lengthBytes }))
    const offset = position
    for await (const chunk of chunks) await append(chunk)
    await append(Buffer.alloc(tarBytes(lengthBytes) - lengthBytes))
    members.set(name, { offset, lengthBytes })
  }
  let isOpen = true
  const end = async (): Promise<void> => {
    if (isOpen) await nodeDisk.close(fd)
    isOpen = false
  }
  return {
    files: membersOf(path, files, members),
    write,
    finish: async (manifest) => {
      await write(MANIFEST_NAME, manifest.length, only(manifest))
      await append(Buffer.alloc(2 * TAR_BLOCK_BYTES))
      await nodeDisk.sync(fd)
      await end()
    },
    publish: async () => {
      if ((await stat(draft)).ino !== ino) {
        throw new StartError(`another backup to ${path} has begun; this one gives up`)
      }
      await rename(draft, path)
      await nodeDisk.syncFolder(dirname(path))
    },
    close: async () => {
      await files.close()
      await end()
      // Nothing is there after it was published.
      await nodeDisk.remove(draft)
    },
  }
}

async function createDraft(draft: string, path: string): Promise<number> {
  try {
    await nodeDisk.remove(draft)
    return await nodeDisk.create(draft)
  } catch (error) {
    throw new StartError(`cannot write the backup ${path}: ${errorReason(error)}`)
  }
}

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
