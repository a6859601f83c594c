// The bodies of Get User Delegation Key.
import type { UserDelegationKey } from '../../auth/sas/user-delegation-key.ts'
import { parseSasTime } from '../../auth/sas/sas-time.ts'
import { StorageError } from '../../storage/shared/error.ts'
import {
  parseXml,
  xmlChild,
  XML_DECLARATION,
  xmlElement,
  xmlOptional,
  type XmlNode,
} from '../../http/protocol/xml.ts'

type KeyRequest = {
  readonly startMs: number | undefined
  readonly expiryMs: number
  readonly delegatedUserTid: string | undefined
}

export function decodeKeyRequest(body: Uint8Array): KeyRequest {
  const root = parseXml(body)
  if (root.name !== 'KeyInfo') throw new StorageError('InvalidXmlDocument')
  const expiryMs = timeOf(root, 'Expiry')
  if (expiryMs === undefined) {
    throw new StorageError('MissingRequiredXmlNode', { XmlNodeName: 'Expiry' })
  }
  const delegatedUserTid = xmlChild(root, 'DelegatedUserTid')?.text
  return { startMs: timeOf(root, 'Start'), expiryMs, delegatedUserTid }
}

export function encodeUserDelegationKey(key: UserDelegationKey): string {
  return (
    `${XML_DECLARATION}<UserDelegationKey>${xmlElement('SignedOid', key.signedOid)}` +
    xmlElement('SignedTid', key.signedTid) +
    xmlElement('SignedStart', key.signedStart) +
    xmlElement('SignedExpiry', key.signedExpiry) +
    xmlElement('SignedService', key.signedService) +
    xmlElement('SignedVersion', key.signedVersion) +
    xmlOptional('SignedDelegatedUserTid', key.signedDelegatedUserTid) +
    `${xmlElement('Value', key.value)}</UserDelegationKey>`
  )
}

function timeOf(root: XmlNode, name: string): number | undefined {
  const text = xmlChild(root, name)?.text
  if (text === undefined || text === '') return undefined
  const timeMs = parseSasTime(text)
  if (timeMs === undefined) {
    throw new StorageError('InvalidXmlNodeValue', { XmlNodeName: name, XmlNodeValue: text })
  }
  return timeMs
}
