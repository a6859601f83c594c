// A certification authority of one's own and a server certificate from it, for `--https auto`. Made
// with @peculiar/x509, which is loaded only when something has to be made: a start that finds its
// certificate in the location does not pay for it.
import { createPrivateKey, KeyObject, randomBytes, webcrypto, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import type { Extension, JsonGeneralName } from '@peculiar/x509'

const DAY_MS = 86_400_000
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }

/** Clocks of containers and virtual machines run behind. */
const BACKDATE_MS = DAY_MS
const CA_VALID_MS = 3650 * DAY_MS
/** Browsers and Apple's systems refuse server certificates that are valid for longer than 398 days. */
const SERVER_VALID_MS = 397 * DAY_MS
const RENEW_BEFORE_MS = 30 * DAY_MS

/** A private key and the certificate for it (for a server: and its CA's), in PEM. */
export type Certificate = { readonly keyPem: string; readonly certPem: string }

/** Names that reach a Lazuli on this machine. A wildcard stands for one label only, RFC 6125 6.4.3. */
const LOCAL_NAMES: readonly string[] = [
  'localhost',
  '127.0.0.1',
  '::1',
  'host.docker.internal',
  '*.localhost',
  '*.blob.localhost',
  '*.queue.localhost',
  '*.table.localhost',
  '*.file.localhost',
  '*.dfs.localhost',
]

export function certificateNames(given: readonly string[]): readonly string[] {
  return [...new Set([...LOCAL_NAMES, ...given])]
}

export async function makeCa(nowMs: number): Promise<Certificate> {
  const x509 = await loadX509()
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    // A name of its own, so that a system that trusted several can tell them apart.
    name: `CN=Lazuli CA ${randomBytes(4).toString('hex')}`,
    notBefore: new Date(nowMs - BACKDATE_MS),
    notAfter: new Date(nowMs + CA_VALID_MS),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  return { keyPem: keyPem(keys.privateKey), certPem: certificate.toString('pem') }
}

export async function makeServerCertificate(
  ca: Certificate,
  names: readonly string[],
  nowMs: number,
): Promise<Certificate> {
  const x509 = await loadX509()
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const issuer = new x509.X509Certificate(ca.certPem)
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: 'CN=Lazuli',
    issuer: issuer.subject,
    notBefore: new Date(nowMs - BACKDATE_MS),
    notAfter: new Date(nowMs + SERVER_VALID_MS),
    signingAlgorithm: ALGORITHM,
    signingKey: await importKey(ca.keyPem),
    publicKey: keys.publicKey,
    extensions: [
      ...serverExtensions(x509, names),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  const certPem = `${certificate.toString('pem')}\n${ca.certPem}`
  return { keyPem: keyPem(keys.privateKey), certPem }
}

function serverExtensions(
  x509: typeof import('@peculiar/x509'),
  names: readonly string[],
): readonly Extension[] {
  const alternatives = names.map((name): JsonGeneralName => ({
    type: isIP(name) === 0 ? 'dns' : 'ip',
    value: name,
  }))
  return [
    new x509.BasicConstraintsExtension(false, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
    new x509.SubjectAlternativeNameExtension(alternatives),
  ]
}

/** Not for long enough any more, counted so that what it signs is never valid longer than it is. */
export function isCaStale(ca: Certificate, nowMs: number): boolean {
  const { validTo } = new X509Certificate(ca.certPem)
  return Date.parse(validTo) < nowMs + SERVER_VALID_MS + RENEW_BEFORE_MS
}

/** From another CA, about to expire, or for other names. */
export function isServerStale(
  server: Certificate,
  ca: Certificate,
  { names, nowMs }: { readonly names: readonly string[]; readonly nowMs: number },
): boolean {
  const certificate = new X509Certificate(server.certPem)
  if (!certificate.verify(new X509Certificate(ca.certPem).publicKey)) return true
  if (!certificate.checkPrivateKey(createPrivateKey(server.keyPem))) return true
  if (Date.parse(certificate.validTo) < nowMs + RENEW_BEFORE_MS) return true
  return !hasExactlyNames(certificate, names)
}

function hasExactlyNames(certificate: X509Certificate, names: readonly string[]): boolean {
  const entries = (certificate.subjectAltName ?? '').split(', ')
  if (entries.length !== names.length) return false
  return names.every((name) =>
    isIP(name) === 0 ? entries.includes(`DNS:${name}`) : certificate.checkIP(name) !== undefined,
  )
}

/**
 * tsyringe, beneath @peculiar/x509, does not load without the reflect-metadata polyfill. It only asks
 * it what the constructors of registered classes need, and here none needs anything.
 */
async function loadX509(): Promise<typeof import('@peculiar/x509')> {
  const nothingKnown = (): undefined => undefined
  if (!('getMetadata' in Reflect)) {
    Object.assign(Reflect, { getMetadata: nothingKnown, getOwnMetadata: nothingKnown })
  }
  return import('@peculiar/x509')
}

/** Positive and unguessable, RFC 5280 4.1.2.2. */
function serialNumber(): string {
  return `01${randomBytes(15).toString('hex')}`
}

function keyPem(key: webcrypto.CryptoKey): string {
  return KeyObject.from(key).export({ type: 'pkcs8', format: 'pem' }).toString()
}

function importKey(pem: string): Promise<webcrypto.CryptoKey> {
  const pkcs8 = createPrivateKey(pem).export({ type: 'pkcs8', format: 'der' })
  return webcrypto.subtle.importKey('pkcs8', pkcs8, ALGORITHM, false, ['sign'])
}
