// Creates a private certification authority (CA) and a server certificate for `--https auto`. @peculiar/x509 is loaded
// only to create one, so a start with existing certificates does not need it.
import { createPrivateKey, KeyObject, randomBytes, webcrypto, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import type { Extension, JsonGeneralName } from '@peculiar/x509'

const DAY_MS = 86_400_000
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }

/** The clocks of containers and virtual machines may be slow. */
const BACKDATE_MS = DAY_MS
const CA_VALID_MS = 3650 * DAY_MS
/** Browsers and Apple's systems reject server certificates that are valid for more than 398 days. */
const SERVER_VALID_MS = 397 * DAY_MS
const RENEW_BEFORE_MS = 30 * DAY_MS

/** A private key and its certificate in PEM; for a server, followed by the CA's certificate. */
export type Certificate = { readonly keyPem: string; readonly certPem: string }

/** Names by which a server on this machine is reached. A wildcard matches one label only, RFC 6125 6.4.3. */
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
    // A unique name, so that a system that trusts several can tell them apart.
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

/** Too close to expiry: a CA must outlive the certificates that it signs. */
export function isCaStale(ca: Certificate, nowMs: number): boolean {
  const { validTo } = new X509Certificate(ca.certPem)
  return Date.parse(validTo) < nowMs + SERVER_VALID_MS + RENEW_BEFORE_MS
}

/** Signed by another CA, about to expire, or without one of the names. */
export function isServerStale(
  server: Certificate,
  ca: Certificate,
  { names, nowMs }: { readonly names: readonly string[]; readonly nowMs: number },
): boolean {
  const certificate = new X509Certificate(server.certPem)
  if (!certificate.verify(new X509Certificate(ca.certPem).publicKey)) return true
  if (!certificate.checkPrivateKey(createPrivateKey(server.keyPem))) return true
  if (Date.parse(certificate.validTo) < nowMs + RENEW_BEFORE_MS) return true
  return !hasNames(certificate, names)
}

/** It may have more: a name service that does not answer at one start must not take names away. */
function hasNames(certificate: X509Certificate, names: readonly string[]): boolean {
  const entries = (certificate.subjectAltName ?? '').split(', ')
  return names.every((name) =>
    isIP(name) === 0 ? entries.includes(`DNS:${name}`) : certificate.checkIP(name) !== undefined,
  )
}

/**
 * @peculiar/x509 depends on tsyringe, which does not load without the reflect-metadata polyfill. It only looks up
 * constructor parameters there, and the registered classes have none, so a stub is enough.
 */
async function loadX509(): Promise<typeof import('@peculiar/x509')> {
  const noMetadata = (): undefined => undefined
  if (!('getMetadata' in Reflect)) {
    Object.assign(Reflect, { getMetadata: noMetadata, getOwnMetadata: noMetadata })
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
