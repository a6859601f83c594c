// What the tests of both doors share: one server, the SDK's client at the one and SMB clients at the other, which
// end with the test.
import assert from 'node:assert/strict'
import type { ShareFileClient } from '@azure/storage-file-share'
import { newFile, newWorld, type World } from '../file/file-operations.ts'
import { shareClient } from '../file/smb-client.ts'
import { runTestServer, type RunningTestServer } from '../running-server.ts'
import { SmbClient, type ClientTerms } from './smb-client.ts'
import type { OpenTerms } from './client-message.ts'
import type { SmbFile } from './smb-file.ts'

export type Doors = World & {
  /** A client of its own, with its own connection. */
  smb(terms?: Partial<ClientTerms>): Promise<SmbClient>
  /** A new file, made by REST and opened by a new SMB client. */
  opened(terms?: OpenTerms): Promise<Opened>
  close(): Promise<void>
}

export type Opened = {
  readonly file: ShareFileClient
  readonly client: SmbClient
  readonly handle: SmbFile
}

const SHARE_NAME = 'doors'

export async function openDoors(): Promise<Doors> {
  const server: RunningTestServer = await runTestServer()
  const world = await newWorld(server, shareClient(server, SHARE_NAME))
  const clients: SmbClient[] = []
  const smb: Doors['smb'] = async (terms = {}) => {
    const client = await SmbClient.connect({ port: server.smbPort, share: SHARE_NAME, ...terms })
    clients.push(client)
    return client
  }
  return {
    ...world,
    smb,
    opened: async (terms = {}) => {
      const file = await newFile(world)
      const client = await smb()
      return { file, client, handle: await client.open(file.path, terms) }
    },
    close: async () => {
      for (const client of clients) client.end()
      await server.close()
      // Whatever a client was refused, nothing failed on our side.
      assert.doesNotMatch(server.logged(), /error/)
    },
  }
}
