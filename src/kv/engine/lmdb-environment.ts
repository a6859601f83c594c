// The open environment of LMDB, and another one after the disk has failed at the last moment of a commit: from then on, LMDB
// refuses every transaction of the old one, and the package never answers a commit that it refuses (lmdb 3.5, writer.cpp).
import { StoreUnavailable } from './unavailable.ts'

type Opened = { close(): Promise<void>; transactionSync(work: () => void): unknown }

/** How often one commit opens the environment again. A disk that fails each time needs a person. */
const REOPENINGS_MAX = 3

export class Environment<Store extends Opened> {
  #store: Store
  /** Why the environment can't be used. */
  #failure: unknown
  readonly #open: () => Store
  readonly #unused: () => Promise<void>

  /** `unused` resolves when nothing reads from the environment, so that it may be closed. */
  constructor(open: () => Store, unused: () => Promise<void>) {
    this.#open = open
    this.#unused = unused
    this.#store = open()
  }

  get store(): Store {
    if (this.#failure === undefined) return this.#store
    throw new StoreUnavailable('The disk has failed; the store has to be opened again.', this.#failure) // prettier-ignore
  }

  /**
   * Commits by `work`. It is repeated in a new environment if the old one has failed, since it may have taken effect or not:
   * nobody reads and nobody else commits before that is certain.
   */
  async commit(work: (store: Store) => Promise<unknown>): Promise<void> {
    for (let times = 0; ; times += 1) {
      if (this.#failure !== undefined) await this.#reopen()
      try {
        await work(this.#store)
        return
      } catch (error) {
        if (!this.hasFailed(error) || times === REOPENINGS_MAX) throw error
      }
    }
  }

  /** Whether it can be used no more after this error of a commit. */
  hasFailed(error: unknown): boolean {
    try {
      this.#store.transactionSync(() => undefined)
      return false
    } catch {
      this.#failure = error
      return true
    }
  }

  async #reopen(): Promise<void> {
    await this.#unused()
    await this.#store.close()
    this.#store = this.#open()
    this.#failure = undefined
  }

  async close(): Promise<void> {
    await this.#unused()
    await this.#store.close()
  }
}
