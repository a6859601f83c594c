// The membership of a server in a cluster, whose nodes serve the same store: what it needs from the others, and they from
// it.
import type { EventKv } from '../../kv/kv.ts'
import type { NodeEndpoint } from '../../node/cluster-node.ts'
import type { FilesHome } from '../../node/home.ts'
import type { FileEvent } from '../../storage/file/open/open.ts'
import type { Gauge } from '../../start/admin/metrics.ts'
import type { Endpoint } from '../../start/log/banner.ts'
import type { ListenPlace } from '../../start/listen.ts'
import type { Store } from '../../start/store/store.ts'

export type Membership = {
  readonly store: Store
  /** Where it is, for people. */
  readonly location?: string
  readonly home: FilesHome
  /** Known to all nodes and nobody else. */
  readonly secret: Buffer
  /** What operators watch. */
  readonly gauges?: readonly Gauge[]
  /** The port for other nodes. */
  readonly peer: ListenPlace
  /**
   * Opens a kv for the files, with volatile records of its own, over the same engine and stamps as `store.kv`. Called
   * each time that this node becomes the home. Its transactions fail once it is no longer (`withRole`).
   */
  openFilesKv(): Promise<FilesKv>
  /** The role of running copies of blobs, while this node has it. */
  copies(): CopyTerm | undefined
  /** The services of all nodes, for the sources of copies. Those of this node are among them after `announce`. */
  endpoints(): readonly Pick<NodeEndpoint, 'service' | 'host' | 'port'>[]
  /** Called when all ports of this node are open. */
  announce(ports: {
    readonly peerPort: number
    readonly endpoints: readonly Endpoint[]
  }): void | Promise<void>
}

/** A period in which one node runs the copies; its transactions fail once it is over. */
export type CopyTerm = { readonly epoch: number; readonly kv: EventKv<FileEvent> }

export type FilesKv = {
  readonly kv: EventKv<FileEvent>
  /** Waits for running transactions; the engine stays open. */
  close(): Promise<void>
}
