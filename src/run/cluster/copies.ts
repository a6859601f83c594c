// Copies of blobs from elsewhere, in a cluster: the node that has the role runs those that all nodes have accepted. The
// others only store them, so none is lost with the node that accepted it.
import type { CopyJobQueue, CopyJobs } from '../../rest/shared/copy/copy-jobs.ts'
import type { CopyTerm } from './membership.ts'

/** How long a copy waits at most until the node with the role finds it. */
const LOOK_EVERY_MS = 1_000

export type ClusterCopiesSettings<Place> = {
  /** The role, while this node has it. */
  term(): CopyTerm | undefined
  open(term: CopyTerm): CopyJobs<Place>
  report(error: unknown): void
}

type Running<Place> = { readonly epoch: number; readonly jobs: CopyJobs<Place> }

export class ClusterCopies<Place> implements CopyJobQueue<Place> {
  readonly #settings: ClusterCopiesSettings<Place>
  readonly #timer: NodeJS.Timeout
  #running: Running<Place> | undefined
  #looking: Promise<void> = Promise.resolve()

  constructor(settings: ClusterCopiesSettings<Place>) {
    this.#settings = settings
    this.#timer = setInterval(() => void this.look(), LOOK_EVERY_MS).unref()
  }

  checkFree(): void {
    this.#running?.jobs.checkFree()
  }

  begin(place: Place): void {
    this.#running?.jobs.begin(place)
  }

  cancel(place: Place): void {
    this.#running?.jobs.cancel(place)
  }

  /** Follows the role, and starts the copies that other nodes have accepted. */
  look(): Promise<void> {
    this.#looking = this.#looking
      .then(() => this.#look())
      .catch((error: unknown) => this.#settings.report(error))
    return this.#looking
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#looking
    await this.#running?.jobs.close()
  }

  async #look(): Promise<void> {
    const term = this.#settings.term()
    if (this.#running?.epoch !== term?.epoch) {
      await this.#running?.jobs.close()
      this.#running = term && { epoch: term.epoch, jobs: this.#settings.open(term) }
    }
    await this.#running?.jobs.resume()
  }
}
