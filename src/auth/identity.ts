// The identity of a caller, which is the outcome of authentication. Besides permissions, a SAS can carry response
// headers, an encryption scope and a range of table keys; handlers read them from here.

/** The `sr` of a SAS; queues and tables have none on the wire and get 'q' and 't' here. */
export type SasResource = 'b' | 'bs' | 'bv' | 'c' | 'd' | 'f' | 's' | 'q' | 't'

/** rscc, rscd, rsce, rscl, rsct: response headers that the SAS sets. */
export type ResponseHeaderOverrides = {
  readonly cacheControl?: string
  readonly contentDisposition?: string
  readonly contentEncoding?: string
  readonly contentLanguage?: string
  readonly contentType?: string
}

/** spk, srk, epk, erk. */
export type TableKeyRange = {
  readonly startPartitionKey?: string
  readonly startRowKey?: string
  readonly endPartitionKey?: string
  readonly endRowKey?: string
}

export type Claims = Readonly<Record<string, unknown>>

export type SharedKeyIdentity = { readonly kind: 'sharedKey' }

export type AccountSasIdentity = {
  readonly kind: 'accountSas'
  readonly permissions: string
  /** `srt`: letters of s, c, o. */
  readonly resourceTypes: string
  readonly encryptionScope: string | undefined
}

export type SasScope = {
  readonly resource: SasResource
  /** The table that a table SAS names, in lower case. */
  readonly table: string | undefined
  readonly keyRange: TableKeyRange
  readonly responseHeaders: ResponseHeaderOverrides
  readonly encryptionScope: string | undefined
}

type ResourceSas = SasScope & { readonly permissions: string }

export type ServiceSasIdentity = ResourceSas & { readonly kind: 'serviceSas' }

export type UserDelegationSasIdentity = ResourceSas & {
  readonly kind: 'userDelegationSas'
  readonly objectId: string
  readonly tenantId: string
  /** The user on whose behalf the request is made. */
  readonly agent?: Agent
}

export type Agent = {
  readonly objectId: string
  /** `saoid`: the owner of the key answers for the user. Of `suoid`, the service checks what the user may do. */
  readonly isAuthorized: boolean
}

export type BearerIdentity = { readonly kind: 'bearer'; readonly claims: Claims }

export type AnonymousIdentity = { readonly kind: 'anonymous' }

export type Identity =
  | SharedKeyIdentity
  | AccountSasIdentity
  | ServiceSasIdentity
  | UserDelegationSasIdentity
  | BearerIdentity
  | AnonymousIdentity

/** Both ends are included; a row key bounds only the rows of the partition at that end. */
export function isInKeyRange(range: TableKeyRange, partitionKey: string, rowKey: string): boolean {
  const { startPartitionKey, startRowKey, endPartitionKey, endRowKey } = range
  if (startPartitionKey !== undefined) {
    if (partitionKey < startPartitionKey) return false
    if (partitionKey === startPartitionKey && startRowKey !== undefined && rowKey < startRowKey) {
      return false
    }
  }
  if (endPartitionKey === undefined || partitionKey < endPartitionKey) return true
  if (partitionKey > endPartitionKey) return false
  return endRowKey === undefined || rowKey <= endRowKey
}
