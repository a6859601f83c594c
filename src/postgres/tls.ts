// TLS as libpq's sslmode asks for it. https://www.postgresql.org/docs/15/libpq-ssl.html
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConnectionOptions } from 'node:tls'
import type { ConnectionSettings } from './settings.ts'

export type TlsSettings = Pick<
  ConnectionSettings,
  'sslMode' | 'sslRootCert' | 'sslCert' | 'sslKey' | 'sslFolder'
>

/** The kinds of connection to try, in order; false is one without TLS. */
export async function tlsAttempts(
  host: string,
  settings: TlsSettings,
): Promise<readonly (ConnectionOptions | false)[]> {
  const { sslMode } = settings
  if (sslMode === 'disable' || host.startsWith('/')) return [false]
  const options = await tlsOptions(settings)
  if (sslMode === 'allow') return [false, options]
  return sslMode === 'prefer' ? [options, false] : [options]
}

async function tlsOptions(settings: TlsSettings): Promise<ConnectionOptions> {
  const { sslMode, sslRootCert, sslCert, sslKey, sslFolder } = settings
  const ca =
    sslRootCert === 'system' ? undefined : await pem(sslRootCert, join(sslFolder, 'root.crt'))
  const mustVerify = sslMode === 'verify-ca' || sslMode === 'verify-full'
  if (mustVerify && ca === undefined && sslRootCert !== 'system') {
    throw new Error(`sslmode=${sslMode} needs a root certificate: name one with sslrootcert.`)
  }
  const cert = await pem(sslCert, join(sslFolder, 'postgresql.crt'))
  const keyFile = sslKey ?? join(sslFolder, 'postgresql.key')
  if (cert !== undefined) await checkPrivate(keyFile)
  return {
    // As in libpq, `require` verifies the chain if there is a root certificate.
    rejectUnauthorized: mustVerify || (sslMode === 'require' && ca !== undefined),
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert, key: await readFile(keyFile) }),
    ...(sslMode !== 'verify-full' && { checkServerIdentity: () => undefined }),
  }
}

/** A file that is named must exist. */
async function pem(named: string | undefined, standard: string): Promise<Buffer | undefined> {
  return named === undefined ? readFile(standard).catch(() => undefined) : readFile(named)
}

async function checkPrivate(file: string): Promise<void> {
  const { mode, uid } = await stat(file)
  // Root's own key may be shared with a group, as libpq allows.
  const others = uid === 0 ? 0o037 : 0o077
  if ((mode & others) !== 0) {
    throw new Error(`The private key ${file} may be read by others. Run: chmod 600 ${file}`)
  }
}
