// The home of the files: the one node of a cluster that serves shares now, by REST and SMB, with what clients have open,
// locked and cached in its memory. The other nodes relay connections to it.
import type { Cluster } from './cluster.ts'
import type { PeerAddress } from './cluster-node.ts'

/** Where the files of the cluster are served now. */
export interface FilesHome {
  /** `here`, the address of the node that is the home, or undefined while no node is, or none that can be reached. */
  place(): HomePlace
  /** Changes whenever a node becomes the home, even if it was the home before. */
  epoch(): number
  /** Calls the listener whenever one of the two changes. Returns a function that stops it. */
  listen(listener: () => void): () => void
}

export type HomePlace = 'here' | PeerAddress | undefined

/** The node that has the role `files`. */
export function filesHomeOf(cluster: Cluster): FilesHome {
  const epoch = (): number => cluster.holder('files')?.epoch ?? 0
  const state = (): string => JSON.stringify([placeIn(cluster), epoch()])
  return {
    place: () => placeIn(cluster),
    epoch,
    listen: (listener) => {
      let last = state()
      return cluster.listen(() => {
        const now = state()
        if (now === last) return
        last = now
        listener()
      })
    },
  }
}

function placeIn(cluster: Cluster): HomePlace {
  const holder = cluster.holder('files')
  if (holder === undefined) return undefined
  if (holder.node === cluster.number) return 'here'
  const peer = cluster.nodes.find(({ number }) => number === holder.node)?.peer
  return peer && { ...peer, node: holder.node }
}
