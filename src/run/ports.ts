// The ports of a server: a listener for each service that it offers, SMB among them, and the certificate that they share.
import type { RequestHandler } from '../http/protocol/exchange.ts'
import {
  createListener,
  LISTENER_LIMITS,
  type Listener,
  type Route,
} from '../http/protocol/listener.ts'
import type { UnauthenticatedMemory } from '../memory/unauthenticated-memory.ts'
import type { SmbListener } from '../smb/listen.ts'
import { checkCanListen, listenOrMove, type ListenPlace } from '../start/listen.ts'
import type { Endpoint } from '../start/log/banner.ts'
import type { Log } from '../start/log/log.ts'
import type { Options } from '../start/options/options.ts'
import type { ServiceName } from '../start/options/services.ts'
import type { Tls } from '../start/tls/tls.ts'
import type { ServiceListeners } from './files.ts'
import type { HttpService } from './handlers.ts'

/** A certificate is renewed weeks before it expires. */
const RENEW_EVERY_MS = 12 * 3_600_000

export type PortSettings = {
  readonly options: Options
  /** Whose ports are only defaults: if one is in use, any free one will do. */
  readonly mayMove: readonly ServiceName[]
}

/** Fails if a port is in use, before anything else is started. */
export async function checkPorts(
  services: readonly ServiceName[],
  { options, mayMove }: PortSettings,
): Promise<void> {
  for (const service of services) {
    if (!mayMove.includes(service)) await checkCanListen(placeOf(service, options))
  }
}

type Opened = PortSettings & {
  readonly log: Log
  readonly tls: Tls | undefined
  readonly unauthenticated: UnauthenticatedMemory
}

export class Ports {
  readonly endpoints: Endpoint[] = []
  readonly #settings: Opened
  readonly #listeners: Listener[] = []
  readonly #byService: { -readonly [K in keyof ServiceListeners]: ServiceListeners[K] } = {}
  readonly #renewing: NodeJS.Timeout
  #smb: SmbListener | undefined

  constructor(settings: Opened) {
    this.#settings = settings
    this.#renewing = setInterval(() => void this.renewTls(Date.now()), RENEW_EVERY_MS)
    this.#renewing.unref()
  }

  get smb(): SmbListener | undefined {
    return this.#smb
  }

  get byService(): ServiceListeners {
    return this.#byService
  }

  async open(service: HttpService, handler: RequestHandler, route?: Route): Promise<void> {
    const listener = this.#create(service, handler, route)
    if (service === 'blob' || service === 'file') this.#byService[service] = listener
    const { host, port } = await this.#listen(service, listener.server)
    const protocol = this.#settings.tls === undefined ? 'http' : 'https'
    this.endpoints.push({ service, protocol, host, port })
  }

  async openSmb(smb: SmbListener): Promise<void> {
    this.#smb = smb
    const place = await this.#listen('smb', smb.server)
    this.endpoints.push({ service: 'smb', protocol: 'smb', ...place })
  }

  /** For static websites. Returns the port. */
  async openWebsite(handler: RequestHandler): Promise<number> {
    const { port } = await this.#listen('web', this.#create('blob', handler, undefined).server)
    return port
  }

  #create(service: HttpService, handler: RequestHandler, route: Route | undefined): Listener {
    const { options, tls, unauthenticated } = this.#settings
    const { allowHttp } = options
    const limits = {
      ...LISTENER_LIMITS,
      keepAliveMs: options[`${service}KeepAliveTimeout`] * 1_000,
    }
    const more = { unauthenticated, route, allowHttp }
    const listener = createListener(handler, limits, tls?.context, more)
    this.#listeners.push(listener)
    return listener
  }

  async #listen(service: ServiceName, server: Listener['server']) {
    const { options, mayMove } = this.#settings
    const place = placeOf(service, options)
    const { port } = await listenOrMove(server, place, mayMove.includes(service))
    return { host: place.host, port }
  }

  /** Looks for changed certificate files, and makes a new certificate before the current one expires. */
  async renewTls(nowMs: number): Promise<void> {
    const { tls, log } = this.#settings
    try {
      const renewed = await tls?.renew(nowMs)
      if (renewed === undefined) return
      for (const listener of this.#listeners) listener.renewTls(renewed)
      log.info('the certificate was renewed')
    } catch (error) {
      log.error('the certificate cannot be renewed, so the old one is used on', { error })
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#renewing)
    await this.#smb?.close()
    await Promise.all(this.#listeners.map((listener) => listener.close()))
  }
}

function placeOf(service: ServiceName, options: Options): ListenPlace {
  const [host, port] = [options[`${service}Host`], options[`${service}Port`]]
  const what = service === 'web' ? 'the static websites' : `the ${service} service`
  return { what, flag: `--${service}Port`, host, port }
}
