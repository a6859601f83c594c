// ProtocolSettings of Set File Service Properties. A setting that would have no effect is refused: what is
// taken is what holds anyway, so that who writes back what they have read, or asks for it, is served.
import { StorageError } from './error.ts'
import type { ProtocolSettings, SmbSettings } from './service-properties.ts'

type SmbList = Extract<
  keyof SmbSettings,
  'versions' | 'authenticationMethods' | 'kerberosTicketEncryption' | 'channelEncryption'
>

/** The element, the words that the service knows in it, and how many of the first ones hold here. */
const SMB_LISTS: Readonly<
  Record<
    SmbList,
    { readonly element: string; readonly words: readonly string[]; readonly holds: number }
  >
> = {
  versions: { element: 'Versions', words: ['SMB2.1', 'SMB3.0', 'SMB3.1.1'], holds: 3 },
  authenticationMethods: {
    element: 'AuthenticationMethods',
    words: ['NTLMv2', 'Kerberos'],
    holds: 1,
  },
  kerberosTicketEncryption: {
    element: 'KerberosTicketEncryption',
    words: ['RC4-HMAC', 'AES-256'],
    holds: 0,
  },
  channelEncryption: {
    element: 'ChannelEncryption',
    words: ['AES-128-CCM', 'AES-128-GCM', 'AES-256-GCM'],
    holds: 3,
  },
}

const LISTS: readonly SmbList[] = [
  'versions',
  'authenticationMethods',
  'kerberosTicketEncryption',
  'channelEncryption',
]

export function checkProtocolSettings({ smb = {}, nfs = {} }: ProtocolSettings): void {
  if (smb.multichannelEnabled === true) throw unsupported('Multichannel')
  const required = [smb.encryptionInTransitRequired, nfs.encryptionInTransitRequired]
  if (required.includes(true)) throw unsupported('EncryptionInTransit')
  for (const name of LISTS) checkList(name, smb[name])
}

function checkList(name: SmbList, text: string | undefined): void {
  if (text === undefined) return
  const { element, words, holds } = SMB_LISTS[name]
  const given = new Set(text.split(';').filter((word) => word !== ''))
  for (const word of given) {
    if (words.includes(word)) continue
    throw new StorageError('InvalidXmlNodeValue', { XmlNodeName: element, XmlNodeValue: text })
  }
  const holding = words.slice(0, holds)
  if (given.size !== holds || !holding.every((word) => given.has(word))) throw unsupported(element)
}

function unsupported(element: string): StorageError {
  return new StorageError('UnsupportedXmlNode', { XmlNodeName: element })
}
