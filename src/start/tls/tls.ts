// Loads the certificates for HTTPS, from `--https auto` or from --cert, --key and --pwd. Generated certificates are stored
// in the https folder of the data: ca.pem for clients to trust, and two private files, each with a key and its
// certificate, so that a pair is always replaced together.
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SecureContextOptions } from 'node:tls'
import { isDeepStrictEqual } from 'node:util'
import {
  certificateNames,
  isCaStale,
  isServerStale,
  makeCa,
  makeServerCertificate,
  type Certificate,
} from './certificate.ts'
import { machineNames, THIS_MACHINE, type Machine } from './machine.ts'
import { isWildcard } from '../host.ts'
import type { Options } from '../options/options.ts'
import { errorCode, errorReason, StartError, usageError } from '../start-error.ts'

export type TlsContext = Pick<SecureContextOptions, 'cert' | 'key' | 'pfx' | 'passphrase'>

export type Tls = {
  readonly context: TlsContext
  /** Only with `--https auto`; without a path if it is only in memory. */
  readonly ca?: { readonly pem: string; readonly path: string | undefined }
  /** What to use from now on: files have changed, a certificate is about to expire. undefined: the same as before. */
  renew(nowMs: number): Promise<TlsContext | undefined>
}

export type TlsSettings = {
  readonly options: Options
  /** undefined with --inMemoryPersistence: then certificates last as long as the process. */
  readonly location: string | undefined
  readonly nowMs: number
  readonly machine?: Machine
}

/** undefined: plain HTTP. */
export async function loadTls(settings: TlsSettings): Promise<Tls | undefined> {
  const { options } = settings
  if (options.cert !== undefined) return loadGiven(options.cert, options)
  return options.https === 'auto' ? loadAuto(settings) : undefined
}

async function loadAuto({
  options,
  location,
  nowMs,
  machine = THIS_MACHINE,
}: TlsSettings): Promise<Tls> {
  const hosts = listeningHosts(options)
  const given = [...options.httpsNames, ...hosts.filter((host) => !isWildcard(host))]
  const load = async (atMs: number, before?: Certificates): Promise<Certificates> => {
    const names = certificateNames([...given, ...(await machineNames(machine, hosts))])
    return location === undefined
      ? renewCertificates(before, names, atMs)
      : loadCertificates(join(location, 'https'), names, atMs)
  }
  let certificates = await load(nowMs)
  return {
    context: contextOf(certificates),
    ca: {
      pem: certificates.ca.certPem,
      path: location === undefined ? undefined : join(location, 'https', 'ca.pem'),
    },
    renew: async (atMs) => {
      const before = certificates.server
      certificates = await load(atMs, certificates)
      return certificates.server.certPem === before.certPem ? undefined : contextOf(certificates)
    },
  }
}

function contextOf({ server }: Certificates): TlsContext {
  return { cert: server.certPem, key: server.keyPem }
}

function listeningHosts(options: Options): readonly string[] {
  const { blobHost, queueHost, tableHost, fileHost, dfsHost, webHost } = options
  return [blobHost, queueHost, tableHost, fileHost, dfsHost, webHost].map((host) =>
    host.toLowerCase(),
  )
}

type Certificates = { readonly ca: Certificate; readonly server: Certificate }

/** In memory. */
async function renewCertificates(
  before: Certificates | undefined,
  names: readonly string[],
  nowMs: number,
): Promise<Certificates> {
  const ca = before === undefined || isCaStale(before.ca, nowMs) ? await makeCa(nowMs) : before.ca
  if (before !== undefined && !isServerStale(before.server, ca, { names, nowMs })) return before
  return { ca, server: await makeServerCertificate(ca, names, nowMs) }
}

async function loadCertificates(
  folder: string,
  names: readonly string[],
  nowMs: number,
): Promise<Certificates> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const ca = await loadCa(folder, nowMs)
    const path = join(folder, 'server.private.pem')
    const stored = await readPair(path)
    if (stored !== undefined && !isServerStale(stored, ca, { names, nowMs }))
      return { ca, server: stored }
    const server = await makeServerCertificate(ca, names, nowMs)
    await writePrivate(path, server.keyPem + server.certPem)
    return { ca, server }
  } catch (error) {
    throw new StartError(`--https auto cannot use ${folder}: ${errorReason(error)}`)
  }
}

async function loadCa(folder: string, nowMs: number): Promise<Certificate> {
  const path = join(folder, 'ca.private.pem')
  const stored = await readPair(path)
  if (stored !== undefined && !isCaStale(stored, nowMs)) {
    await writePublic(join(folder, 'ca.pem'), stored.certPem)
    return stored
  }
  const ca = await makeCa(nowMs)
  await writePrivate(path, ca.keyPem + ca.certPem)
  await writePublic(join(folder, 'ca.pem'), ca.certPem)
  return ca
}

async function readPair(path: string): Promise<Certificate | undefined> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return undefined
  const certAt = text.indexOf('-----BEGIN CERTIFICATE-----')
  if (certAt <= 0) throw new Error(`${path} is damaged; delete it to create a new one`)
  return { keyPem: text.slice(0, certAt), certPem: text.slice(certAt) }
}

async function writePrivate(path: string, text: string): Promise<void> {
  const draft = `${path}.new`
  await rm(draft, { force: true })
  await writeFile(draft, text, { mode: 0o600, flag: 'wx', flush: true })
  await chmod(draft, 0o600)
  await rename(draft, path)
}

async function writePublic(path: string, text: string): Promise<void> {
  const current = await readFile(path, 'utf8').catch(() => undefined)
  if (current !== text) await writeFile(path, text, { mode: 0o600 })
}

type Given = Pick<Options, 'key' | 'pwd'>

async function loadGiven(path: string, given: Given): Promise<Tls> {
  let context = await readContext(path, given)
  return {
    context,
    renew: async () => {
      const before = context
      context = await readContext(path, given)
      return isDeepStrictEqual(context, before) ? undefined : context
    },
  }
}

async function readContext(path: string, { key: keyPath, pwd }: Given): Promise<TlsContext> {
  const bytes = await readGiven('--cert', path)
  const passphrase = pwd === undefined ? {} : { passphrase: pwd }
  const isPem = bytes.includes('-----BEGIN')
  if (!isPem && keyPath !== undefined) {
    throw usageError(
      `--cert ${path} is not PEM, so it cannot be used with --key; a PFX contains its key`,
    )
  }
  // A PEM file may contain the key too.
  const key = keyPath === undefined ? bytes : await readGiven('--key', keyPath)
  const context = isPem ? { cert: bytes, key, ...passphrase } : { pfx: bytes, ...passphrase }
  await checkContext(context, { path, keyPath })
  return context
}

async function readGiven(flag: string, path: string): Promise<Buffer> {
  return readFile(path).catch((error: unknown) => {
    throw new StartError(`cannot read ${flag} ${path}: ${errorReason(error)}`)
  })
}

/** Checks the key now, since a wrong one would otherwise fail at the first handshake. */
async function checkContext(
  context: TlsContext,
  { path, keyPath }: { readonly path: string; readonly keyPath: string | undefined },
): Promise<void> {
  const { createSecureContext } = await import('node:tls')
  try {
    createSecureContext(context)
  } catch (error) {
    const place = `--cert ${path}${keyPath === undefined ? '' : ` with --key ${keyPath}`}`
    throw new StartError(`cannot use ${place}: ${tlsReason(errorReason(error), context)}`)
  }
}

// Explains OpenSSL's error so that the user knows which file to fix.
function tlsReason(reason: string, context: TlsContext): string {
  // A wrong password decrypts to noise. It sometimes has valid padding, and then fails with another error.
  const isNoise = context.passphrase !== undefined && String(context.key).includes('ENCRYPTED')
  if (
    isNoise ||
    /mac verify failure|bad decrypt|interrupted or cancelled|bad password/i.test(reason)
  ) {
    return context.passphrase === undefined
      ? 'it is encrypted; pass its password with --pwd'
      : 'the password (--pwd) is wrong'
  }
  if (/key values mismatch/i.test(reason)) return 'the key does not belong to the certificate'
  if (context.pfx !== undefined) return `it is neither PEM nor a readable PFX (${reason})`
  return /no start line|DECODER/i.test(reason)
    ? 'there is no private key in PEM; pass one with --key'
    : reason
}
