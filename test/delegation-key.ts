// The response of Get User Delegation Key in the form in which the SDKs sign a SAS with it.
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
