// The well-known account, which all targets have, and an account SAS for it from the official SDK.
import {
  AccountSASPermissions,
  AccountSASResourceTypes,
  AccountSASServices,
  generateAccountSASQueryParameters,
  SASProtocol,
  StorageSharedKeyCredential,
} from '@azure/storage-blob'

export const ACCOUNT = 'devstoreaccount1'
export const ACCOUNT_KEY =
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='
/** The account with a hierarchical namespace, with the same key. */
export const LAKE_ACCOUNT = 'devlake1'
const DAY_MS = 24 * 60 * 60 * 1000

export function accountSas(account = ACCOUNT): string {
  return generateAccountSASQueryParameters(
    {
      expiresOn: new Date(Date.now() + DAY_MS),
      permissions: AccountSASPermissions.parse('rwdlacupft'),
      protocol: SASProtocol.HttpsAndHttp,
      resourceTypes: AccountSASResourceTypes.parse('sco').toString(),
      services: AccountSASServices.parse('bqtf').toString(),
    },
    new StorageSharedKeyCredential(account, ACCOUNT_KEY),
  ).toString()
}
