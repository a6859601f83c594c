// The nodes that write to one store.

export interface Writers {
  /** The id of this node: unique for each start, and never used again. */
  readonly self: string
  /**
   * The ids of the nodes that are alive. A node is alive before its first commit; one that is missing here is dead for
   * good, since the store refuses its commits.
   */
  live(): Promise<ReadonlySet<string>>
}

/** For a store with one node at a time. */
export function soleWriter(self: string): Writers {
  const live = new Set([self])
  return { self, live: async () => live }
}
