// What HTTPS needs, from `--https auto` or from --cert, --key and --pwd. Certificates made here are
// kept in the location's https folder: ca.pem to be trusted, and two private files that hold a key
// together with its certificate, so that a pair is always replaced as one.
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SecureContextOptions } from 'node:tls'
import {
  certificateNames,
  isCaStale,
  isServerStale,
  makeCa,
  makeServerCertificate,
  type Certificate,
} from './certificate.ts'
import { isWildcard } from '../host.ts'
import type { Options } from '../options/options.ts'
import { errorCode, reasonOf, StartError, usageError } from '../start-error.ts'

export type Tls = {
  readonly context: Pick<SecureContextOptions, 'cert' | 'key' | 'pfx' | 'passphrase'>
  /** Only with `--https auto`; without a path when nothing may be written. */
  readonly ca?: { readonly pem: string; readonly path: string | undefined }
}

export type TlsSettings = {
  readonly options: Options
  /** undefined with --inMemoryPersistence: then a certificate lives as long as the process. */
  readonly location: string | undefined
  readonly nowMs: number
}

/** undefined: plain HTTP. */
export async function loadTls({ options, location, nowMs }: TlsSettings): Promise<Tls | undefined> {
  if (options.cert !== undefined) return loadGiven(options.cert, options)
  if (options.https !== 'auto') return undefined
  const names = certificateNames([...options.httpsNames, ...listeningNames(options)])
  const made =
    location === undefined
      ? await makeBoth(names, nowMs)
      : await keepBoth(join(location, 'https'), names, nowMs)
  const path = location === undefined ? undefined : join(location, 'https', 'ca.pem')
  const { certPem: cert, keyPem: key } = made.server
  return { context: { cert, key }, ca: { pem: made.ca.certPem, path } }
}

function listeningNames(options: Options): readonly string[] {
  const { blobHost, queueHost, tableHost, fileHost } = options
  const hosts = [blobHost, queueHost, tableHost, fileHost].map((host) => host.toLowerCase())
  return hosts.filter((host) => !isWildcard(host))
}

type Made = { readonly ca: Certificate; readonly server: Certificate }

async function makeBoth(names: readonly string[], nowMs: number): Promise<Made> {
  const ca = await makeCa(nowMs)
  return { ca, server: await makeServerCertificate(ca, names, nowMs) }
}

async function keepBoth(folder: string, names: readonly string[], nowMs: number): Promise<Made> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const ca = await keepCa(folder, nowMs)
    const path = join(folder, 'server.private.pem')
    const kept = await readPair(path)
    if (kept !== undefined && !isServerStale(kept, ca, { names, nowMs }))
      return { ca, server: kept }
    const server = await makeServerCertificate(ca, names, nowMs)
    await writePrivate(path, server.keyPem + server.certPem)
    return { ca, server }
  } catch (error) {
    throw new StartError(`--https auto cannot use ${folder}: ${reasonOf(error)}`)
  }
}

async function keepCa(folder: string, nowMs: number): Promise<Certificate> {
  const path = join(folder, 'ca.private.pem')
  const kept = await readPair(path)
  if (kept !== undefined && !isCaStale(kept, nowMs)) {
    await writePublic(join(folder, 'ca.pem'), kept.certPem)
    return kept
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
  if (certAt <= 0) throw new Error(`${path} is damaged; delete it to have it made again`)
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
  const there = await readFile(path, 'utf8').catch(() => undefined)
  if (there !== text) await writeFile(path, text, { mode: 0o600 })
}

type Given = Pick<Options, 'key' | 'pwd'>

async function loadGiven(path: string, { key: keyPath, pwd }: Given): Promise<Tls> {
  const bytes = await readGiven('--cert', path)
  const passphrase = pwd === undefined ? {} : { passphrase: pwd }
  const isPem = bytes.includes('-----BEGIN')
  if (!isPem && keyPath !== undefined) {
    throw usageError(
      `--cert ${path} is not PEM, so it cannot be used with --key; a PFX has its own`,
    )
  }
  // A PEM file may hold the key as well.
  const key = keyPath === undefined ? bytes : await readGiven('--key', keyPath)
  const context = isPem ? { cert: bytes, key, ...passphrase } : { pfx: bytes, ...passphrase }
  await checkContext(context, { path, keyPath })
  return { context }
}

async function readGiven(flag: string, path: string): Promise<Buffer> {
  return readFile(path).catch((error: unknown) => {
    throw new StartError(`cannot read ${flag} ${path}: ${reasonOf(error)}`)
  })
}

/** Tried now, since a wrong key would otherwise show at the first handshake. */
async function checkContext(
  context: Tls['context'],
  { path, keyPath }: { readonly path: string; readonly keyPath: string | undefined },
): Promise<void> {
  const { createSecureContext } = await import('node:tls')
  try {
    createSecureContext(context)
  } catch (error) {
    const place = `--cert ${path}${keyPath === undefined ? '' : ` with --key ${keyPath}`}`
    throw new StartError(`cannot use ${place}: ${tlsReason(reasonOf(error), context)}`)
  }
}

// OpenSSL's words, said so that one knows which file to change.
function tlsReason(reason: string, context: Tls['context']): string {
  // A wrong password decrypts to noise, which now and then has the right padding and only then fails.
  const isNoise = context.passphrase !== undefined && String(context.key).includes('ENCRYPTED')
  if (
    isNoise ||
    /mac verify failure|bad decrypt|interrupted or cancelled|bad password/i.test(reason)
  ) {
    return context.passphrase === undefined
      ? 'it is encrypted; give its password with --pwd'
      : 'the password (--pwd) is wrong'
  }
  if (/key values mismatch/i.test(reason)) return 'the key does not belong to the certificate'
  if (context.pfx !== undefined) return `it is neither PEM nor a PFX that can be read (${reason})`
  return /no start line|DECODER/i.test(reason) ? 'there is no private key (--key) in PEM' : reason
}
