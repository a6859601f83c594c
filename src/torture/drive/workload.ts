// The steps of clients: which object a step works on and what it does there depend on the seed, the client, the number of the step
// and what the client has been answered so far.
import type { Answer, Operation } from '../history/call.ts'
import { APPEND_BLOB, BLOCK_BLOB, CONTAINER } from './blob.ts'
import { DIRECTORY } from './file.ts'
import { emptyMemory, type Kind, type Memory, type Place, type Send, type Service } from './kind.ts'
import { QUEUE } from './queue.ts'
import { Random } from './random.ts'
import type { Recorder } from './recorder.ts'
import { PARTITION } from './table.ts'
import { SMB_DIRECTORY } from './smb-file.ts'
import { TREE } from './tree.ts'

const KINDS: readonly Kind[] = [
  BLOCK_BLOB,
  APPEND_BLOB,
  CONTAINER,
  QUEUE,
  PARTITION,
  DIRECTORY,
  SMB_DIRECTORY,
  TREE,
]

/** Many clients for each object, so that they meet. */
const CLIENTS_PER_OBJECT = 5

export type Target = { readonly kind: Kind; readonly name: string }

export type Terms = {
  readonly seed: number
  readonly clients: number
  readonly services: readonly Service[]
  /** Names everything that is created. */
  readonly run: string
}

export function targetsOf({
  clients,
  services,
}: Pick<Terms, 'clients' | 'services'>): readonly Target[] {
  // prettier-ignore
  const count = Math.max(1, Math.round(clients / CLIENTS_PER_OBJECT))
  return KINDS.filter(({ service }) => services.includes(service)).flatMap((kind) =>
    Array.from({ length: count }, (_, at) => ({ kind, name: `${kind.name}${at}` })),
  )
}

export type Perform = (object: string, operation: Operation) => Promise<Answer>

export class Client {
  readonly #number: number
  readonly #terms: Terms
  readonly #targets: readonly Target[]
  readonly #memories = new Map<string, Memory>()
  readonly #recorder: Recorder
  readonly #perform: Perform | undefined

  /** `perform` answers instead of a server. */
  constructor(number: number, terms: Terms, recorder: Recorder, perform?: Perform) {
    this.#number = number
    this.#terms = terms
    this.#targets = targetsOf(terms)
    this.#recorder = recorder
    this.#perform = perform
  }

  /** Returns whether it was answered. */
  async step(step: number, send: Send, endpoint: (service: Service) => string): Promise<boolean> {
    // prettier-ignore
    const { seed, run } = this.#terms
    const random = new Random(seed, this.#number, step)
    const { kind, name } = random.pick(this.#targets)
    const memory = this.#memoryOf(name)
    let valueCount = 0
    const newValue = (lengthBytes = 16): string => {
      valueCount += 1
      return `${this.#number}.${step}.${valueCount}.${lengthBytes}`
    }
    const chooser = { random, memory, newValue }
    const place: Place = { run, name, endpoint: endpoint(kind.service) }
    let isAnswered = true
    let operation: Operation | undefined = kind.choose(chooser)
    while (operation !== undefined) {
      const answer = await this.#call(kind, place, operation, send)
      if (answer === undefined) isAnswered = false
      operation = kind.next?.(chooser, operation, answer)
    }
    return isAnswered
  }

  async #call(kind: Kind, place: Place, operation: Operation, send: Send) {
    const object = `${kind.name}/${place.name}`
    const answer = await this.#recorder.record(this.#number, object, operation, () =>
      this.#perform === undefined
        ? kind.send(send, place, operation)
        : this.#perform(object, operation),
    )
    if (answer !== undefined) kind.remember?.(this.#memoryOf(place.name), operation, answer)
    return answer
  }

  #memoryOf(name: string): Memory {
    const memory = this.#memories.get(name) ?? emptyMemory()
    this.#memories.set(name, memory)
    return memory
  }
}
