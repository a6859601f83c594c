// The home of the files: the one node of a cluster that serves shares now, by REST and SMB, with what clients have open,
// locked and cached in its memory. The other nodes relay connections to it.

/** Where a node accepts connections from other nodes. */
export type PeerAddress = {
  readonly host: string
  readonly port: number
  /** The number of the node. */
  readonly node: number
}

/** Where the files of the cluster are served now. */
export interface FilesHome {
  /** `here`, the address of the node that is the home, or undefined while no node is. */
  place(): 'here' | PeerAddress | undefined
  /**
   * Calls the listener whenever `place` changes, at once and for each change: a node that loses the role and gets it back
   * must hear of both. Returns a function that stops it.
   */
  listen(listener: () => void): () => void
}
