// The process of a server whose memory and descriptors are measured while others do what they like with its ports.
import { startMeasuring } from '../process-measure.ts'
import { startServer } from '../../src/server.ts'

/** The ports by name, as the first message. */
export type Ports = Readonly<
  Record<'blob' | 'queue' | 'table' | 'file' | 'dfs' | 'smb' | 'admin', number>
>

const measure = startMeasuring()
const server = await startServer({ adminPort: 0 })
process.on('message', () => process.send?.(measure()))
process.once('disconnect', () => process.exit())
const { blobPort, queuePort, tablePort, filePort, dfsPort, smbPort, adminUrl } = server
const admin = Number(new URL(adminUrl ?? '').port)
const ports: Ports = { blob: blobPort, queue: queuePort, table: tablePort, file: filePort, dfs: dfsPort, smb: smbPort, admin } // prettier-ignore
process.send?.(ports)
