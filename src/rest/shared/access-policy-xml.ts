// Get and Set ACL on the wire: SignedIdentifiers with Id and AccessPolicy{Start, Expiry, Permission}.
import {
  checkSignedIdentifiers,
  POLICY_LETTERS,
  policyTime,
  type AccessPolicy,
  type SignedIdentifier,
} from '../../storage/shared/access-policy.ts'
import { StorageError } from '../../storage/shared/error.ts'
import {
  parseXml,
  XML_DECLARATION,
  xmlChild,
  xmlElement,
  xmlOptional,
  type XmlNode,
} from '../../http/protocol/xml.ts'

/** The longest body of Set ACL: five policies of a few hundred bytes each. */
export const ACL_BYTES_MAX = 64 * 1024

const LIMITS = { lengthMax: ACL_BYTES_MAX, depthMax: 6, nodeCountMax: 200 }

/** A request without a body clears the list, as an empty list does. */
export function decodeSignedIdentifiers(
  service: keyof typeof POLICY_LETTERS,
  body: string | Uint8Array,
): readonly SignedIdentifier[] {
  if (body.length === 0) return []
  const root = parseXml(body, LIMITS)
  if (root.name !== 'SignedIdentifiers') throw new StorageError('InvalidXmlDocument')
  const identifiers = root.children.map(decodeSignedIdentifier)
  checkSignedIdentifiers(identifiers, POLICY_LETTERS[service])
  return identifiers
}

function decodeSignedIdentifier(node: XmlNode): SignedIdentifier {
  const id = xmlChild(node, 'Id')
  const isKnown = node.children.every(({ name }) => name === 'Id' || name === 'AccessPolicy')
  if (node.name !== 'SignedIdentifier' || id === undefined || !isKnown) {
    throw new StorageError('InvalidXmlDocument')
  }
  const policy = xmlChild(node, 'AccessPolicy')
  return { id: id.text, policy: policy === undefined ? {} : decodeAccessPolicy(policy) }
}

const POLICY_NODES: readonly string[] = ['Start', 'Expiry', 'Permission']

function decodeAccessPolicy(node: XmlNode): AccessPolicy {
  if (!node.children.every(({ name }) => POLICY_NODES.includes(name))) {
    throw new StorageError('InvalidXmlDocument')
  }
  const start = text(node, 'Start')
  const expiry = text(node, 'Expiry')
  const permission = text(node, 'Permission')
  return {
    ...(start === undefined ? {} : { start: policyTime('Start', start) }),
    ...(expiry === undefined ? {} : { expiry: policyTime('Expiry', expiry) }),
    ...(permission === undefined ? {} : { permission }),
  }
}

/** An empty element counts as missing: the SAS decides. */
function text(node: XmlNode, name: string): string | undefined {
  const value = xmlChild(node, name)?.text.trim()
  return value === '' ? undefined : value
}

export function encodeSignedIdentifiers(identifiers: readonly SignedIdentifier[]): string {
  if (identifiers.length === 0) return `${XML_DECLARATION}<SignedIdentifiers />`
  const inner = identifiers.map(encodeSignedIdentifier).join('')
  return `${XML_DECLARATION}<SignedIdentifiers>${inner}</SignedIdentifiers>`
}

/** An empty policy has no AccessPolicy element. */
function encodeSignedIdentifier({ id, policy }: SignedIdentifier): string {
  const inner =
    xmlOptional('Start', policy.start) +
    xmlOptional('Expiry', policy.expiry) +
    xmlOptional('Permission', policy.permission)
  const element = inner === '' ? '' : `<AccessPolicy>${inner}</AccessPolicy>`
  return `<SignedIdentifier>${xmlElement('Id', id)}${element}</SignedIdentifier>`
}
