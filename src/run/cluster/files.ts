// The File service on one of several nodes: served here while this node is the home of the files, and otherwise relayed to
// the node that is.
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { StoreUnavailable } from '../../kv/engine/unavailable.ts'
import { handlerOf } from '../../http/door/serve.ts'
import type { RequestHandler } from '../../http/protocol/exchange.ts'
import type { Route } from '../../http/protocol/listener.ts'
import type { PeerAddress } from '../../node/cluster-node.ts'
import type { RelayedClient } from '../../node/relayed-client.ts'
import { connectingTls } from '../../peer/link-tls.ts'
import { createPeerPort, type PeerPortSettings } from '../../peer/port.ts'
import { Relays } from '../../peer/relay.ts'
import type { Analytics } from '../../rest/blob/log/analytics.ts'
import { FILE_SERVER_HEADER } from '../../rest/file/front.ts'
import type { FileService } from '../../rest/file/service.ts'
import { BUSY_TABLE, serverBusy } from '../../rest/shared/busy.ts'
import type { CopySources } from '../../rest/shared/copy/copy-sources.ts'
import { SMB_CONNECTIONS_MAX, type SmbListener } from '../../smb/listen.ts'
import { listen } from '../../start/listen.ts'
import type { Endpoint } from '../../start/log/banner.ts'
import { errorReason } from '../../start/start-error.ts'
import type { Membership } from './membership.ts'
import type { Files, ServiceListeners } from '../files.ts'
import { forwardFileCopies } from './forward-copy.ts'
import { frontOf, type RunContext } from '../front.ts'
import { HostedFiles } from './hosted-files.ts'
import { rarely } from './rarely.ts'
import { loginReporter } from '../smb.ts'
import { startFiles } from './start-files.ts'

export type ClusterSettings = {
  readonly membership: Membership
  readonly analytics: Analytics
  readonly copySources: CopySources
  readonly after: FileService['after']
  /** This server offers the shares over SMB, too. */
  readonly hasSmb: boolean
  /** What this server listens on, once all ports are open. */
  endpoints(): readonly Endpoint[]
}

const NOT_STARTED = 'the File service could not start or stop'

export function clusterFiles(context: RunContext, settings: ClusterSettings): Files {
  const { membership, hasSmb } = settings
  const { log, unauthenticated } = context
  let listeners: ServiceListeners = {}
  let isClosing = false
  const tls = connectingTls(membership.secret)
  const warn = rarely((message, fields) => log.warn(message, fields))
  const relays = new Relays({
    home: membership.home,
    tls,
    unauthenticated,
    reportUnreachable: ({ host, port }, error) =>
      warn('the home of the files cannot be reached', {
        address: `${host}:${port}`,
        reason: errorReason(error),
      }),
  })
  const reportLogin = hasSmb ? loginReporter(context) : undefined
  const hosted = new HostedFiles({
    home: membership.home,
    start: () => startFiles(context, { ...settings, reportLogin, warn }),
    dropConnections: () => listeners.file?.dropConnections(),
    busy: busyHandler(context, settings.copySources),
    after: settings.after,
    report: (error) => {
      if (error instanceof StoreUnavailable) warn(NOT_STARTED, { reason: error.message })
      else log.error(NOT_STARTED, { error })
    },
  })
  const accept: PeerPortSettings['accept'] = ({ service, client }) => {
    if (membership.home.place() !== 'here' || isClosing) return undefined
    if (service === 'smb') return (socket) => hosted.acceptSmb(socket, client)
    const listener = listeners[service]
    return listener && ((socket) => listener.accept(socket, client))
  }
  const peers = createPeerPort({
    secret: membership.secret,
    unauthenticated,
    accept,
    reportStranger: (client, error) =>
      warn('a connection to the port for nodes was refused', {
        client,
        reason: errorReason(error),
      }),
  })
  const peer = (): PeerAddress | undefined => {
    const place = membership.home.place()
    return place === 'here' ? undefined : place
  }
  const route: Route = (socket, client, serve) => {
    const address = peer()
    if (address === undefined) return serve()
    void relays.carry(socket, address, { service: 'file', client }).then((isCarried) => {
      if (!isCarried) serve()
    })
  }
  return {
    handler: hosted.handler,
    route,
    blobHandler: (handler) =>
      forwardFileCopies(handler, {
        accounts: context.accounts,
        tls,
        home: membership.home,
        listens: () => membership.endpoints(),
      }),
    service: () => {
      assert(hosted.files !== undefined, 'this node is not the home of the files')
      return hosted.files.service
    },
    source: () => {
      if (hosted.files === undefined) throw serverBusy()
      return hosted.files.source
    },
    kv: () => hosted.files?.source.kv,
    openSmb: async () => openSmb({ hosted, relays, peer }),
    relayedCount: () => relays.count,
    resumeCopies: async () => {},
    begin: async (open) => {
      listeners = open
      const { port: peerPort } = await listen(peers.server, membership.peer)
      await membership.announce({ peerPort, endpoints: settings.endpoints() })
    },
    beginClose: async () => {
      isClosing = true
      relays.close()
      await hosted.files?.stopCopies()
    },
    close: async () => {
      await peers.close()
      await hosted.close()
    },
  }
}

/** Each answer ends its connection, so that the client's next one goes to the home. */
function busyHandler(context: RunContext, { services }: CopySources): RequestHandler {
  const own = {
    name: 'file',
    serverHeader: FILE_SERVER_HEADER,
    table: BUSY_TABLE,
    service: undefined,
  } as const
  const { handle, logFault } = handlerOf(frontOf(context, own, () => services.file.world()))
  return {
    handle: (exchange) => {
      exchange.makeLast()
      return handle(exchange)
    },
    logFault,
  }
}

type SmbParts = {
  readonly hosted: HostedFiles
  readonly relays: Relays
  peer(): PeerAddress | undefined
}

/** A client whose connection is closed at once connects again. */
function openSmb({ hosted, relays, peer }: SmbParts): SmbListener {
  const server = createServer((socket) => {
    const address = peer()
    if (address === undefined) return hosted.acceptSmb(socket)
    const { remoteAddress = '', remotePort = 0, localAddress = '' } = socket
    const place = { remoteAddress, remotePort, localAddress }
    const client: RelayedClient = { ...place, secure: false, onLoopback: false }
    void relays.carry(socket, address, { service: 'smb', client }).then((isCarried) => {
      if (!isCarried) socket.destroy()
    })
  })
  server.maxConnections = SMB_CONNECTIONS_MAX
  return {
    server,
    view: () => hosted.files?.smbView,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      await hosted.files?.dropSmb()
      await closed
    },
  }
}
