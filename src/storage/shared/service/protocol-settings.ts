// ProtocolSettings of Set File Service Properties. Only the settings that are in effect anyway are accepted, so
// that clients can write back what they have read. Settings that would have no effect are rejected.
import { invalidXmlNode, StorageError } from '../error.ts'
import type { ProtocolSettings, SmbSettings } from './service-properties.ts'

type SmbList = Extract<
  keyof SmbSettings,
  'versions' | 'authenticationMethods' | 'kerberosTicketEncryption' | 'channelEncryption'
>

/** The element, the words that the service knows, and how many of them, from the first, are supported here. */
const SMB_LISTS: Readonly<
  Record<
    SmbList,
    { readonly element: string; readonly words: readonly string[]; readonly supportedCount: number }
  >
> = {
  versions: { element: 'Versions', words: ['SMB2.1', 'SMB3.0', 'SMB3.1.1'], supportedCount: 3 },
  authenticationMethods: {
    element: 'AuthenticationMethods',
    words: ['NTLMv2', 'Kerberos'],
    supportedCount: 1,
  },
  kerberosTicketEncryption: {
    element: 'KerberosTicketEncryption',
    words: ['RC4-HMAC', 'AES-256'],
    supportedCount: 0,
  },
  channelEncryption: {
    element: 'ChannelEncryption',
    words: ['AES-128-CCM', 'AES-128-GCM', 'AES-256-GCM'],
    supportedCount: 3,
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
  const { element, words, supportedCount } = SMB_LISTS[name]
  const given = new Set(text.split(';').filter((word) => word !== ''))
  for (const word of given) {
    if (words.includes(word)) continue
    throw invalidXmlNode(element, text)
  }
  const supported = words.slice(0, supportedCount)
  const isSupported = given.size === supportedCount && supported.every((word) => given.has(word))
  if (!isSupported) throw unsupported(element)
}

function unsupported(element: string): StorageError {
  return new StorageError('UnsupportedXmlNode', { XmlNodeName: element })
}
