// One port for several nodes. Requests of one connection go to the nodes in turn, as far as they are alive; connections
// of other protocols stay with their node.
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export type Balancer = {
  readonly port: number
  close(): Promise<void>
}

/** The first line of a request. Bodies don't begin so right after an answer, at least not in tests. */
const REQUEST = /^[A-Z]{3,7} \/\S* HTTP\/1\.1\r\n/

/** `ports` are those of the nodes that are alive now. */
export async function startBalancer(ports: () => readonly number[]): Promise<Balancer> {
  const sockets = new Set<Socket>()
  let turn = 0
  const next = (): number => {
    const alive = ports()
    turn += 1
    return alive[turn % alive.length] ?? 0
  }
  const server = createServer((client) => {
    const track = (socket: Socket): Socket => {
      sockets.add(socket.setNoDelay())
      return socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy())
    }
    track(client)
    const carried = new CarriedClient(client, () => track(connect(next(), '127.0.0.1')))
    client.on('data', (bytes: Buffer) => carried.send(bytes))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A client's connection, with a new connection to a node for each request that follows an answer. */
class CarriedClient {
  readonly #client: Socket
  readonly #connect: () => Socket
  #node: Socket | undefined
  #isAnswered = false

  constructor(client: Socket, connectNext: () => Socket) {
    this.#client = client
    this.#connect = connectNext
    client.on('end', () => this.#node?.end())
    client.on('close', () => this.#node?.destroy())
  }

  send(bytes: Buffer): void {
    const isRequest = this.#isAnswered && REQUEST.test(bytes.toString('latin1', 0, 16_384))
    if (this.#node === undefined || isRequest) this.#change()
    this.#isAnswered = false
    if (this.#node?.write(bytes) === false) {
      this.#client.pause()
      this.#node.once('drain', () => this.#client.resume())
    }
  }

  #change(): void {
    const previous = this.#node
    const node = this.#connect()
    this.#node = node
    previous?.end()
    node.on('data', (bytes: Buffer) => {
      if (this.#node !== node) return
      this.#isAnswered = true
      if (!this.#client.write(bytes)) {
        node.pause()
        this.#client.once('drain', () => node.resume())
      }
    })
    node.on('end', () => this.#node === node && this.#client.end())
    // A client sees the death of its node as it would without the balancer.
    node.on('close', () => this.#node === node && this.#client.destroy())
  }
}
