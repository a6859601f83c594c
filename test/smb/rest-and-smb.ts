// One server with REST and SMB clients of the same share. A test file opens it before its first test; clients and
// server end after the last one.
import assert from 'node:assert/strict'
import { after } from 'node:test'
import type { ShareFileClient } from '@azure/storage-file-share'
import { newFile, newWorld, type FileWorld } from '../file/file-operations.ts'
import { shareClient } from '../file/fixture.ts'
import { runTestServer } from '../running-server.ts'
import { SmbClient, type ClientTerms } from './smb-client.ts'
import type { OpenTerms } from './client-message.ts'
import type { SmbFile } from './smb-file.ts'

export type RestAndSmb = FileWorld & {
  /** Connects a new SMB client. */
  smb(terms?: Partial<ClientTerms>): Promise<SmbClient>
  /** Creates a file over REST and opens it with a new SMB client. */
  opened(terms?: OpenTerms): Promise<Opened>
}

export type Opened = {
  readonly file: ShareFileClient
  readonly client: SmbClient
  readonly handle: SmbFile
}

const SHARE_NAME = 'world'

export async function openRestAndSmb(): Promise<RestAndSmb> {
  const server = await runTestServer()
  const share = shareClient(server, SHARE_NAME)
  await share.create()
  const world = await newWorld({ server, share })
  const clients: SmbClient[] = []
  after(async () => {
    for (const client of clients) client.end()
    await server.close()
    // Clients may be refused, but the server itself must not fail.
    assert.doesNotMatch(server.logged(), / error: /)
  })
  const smb: RestAndSmb['smb'] = async (terms = {}) => {
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
  }
}
