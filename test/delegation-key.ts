// Get User Delegation Key's answer as the SDKs take it to sign a SAS.
import { xmlText } from './harness.ts'

export function delegationKeyIn(xml: string) {
  const text = (name: string): string => xmlText(xml, name) ?? ''
  return {
    signedObjectId: text('SignedOid'),
    signedTenantId: text('SignedTid'),
    signedStartsOn: new Date(text('SignedStart')),
    signedExpiresOn: new Date(text('SignedExpiry')),
    signedService: text('SignedService'),
    signedVersion: text('SignedVersion'),
    value: text('Value'),
  }
}
