// All errors of Azure Storage: a table of code, HTTP status and the service's message. Rules throw a
// StorageError; each front end encodes it in one place.

// prettier-ignore
export const ERRORS = {
  // 304, 412: conditions
  ConditionNotMet: [412, 'The condition specified using HTTP conditional header(s) is not met.'],
  /** ConditionNotMet on the wire, as an unmet read condition has 304. */
  NotModified: [304, 'The condition specified using HTTP conditional header(s) is not met.'],
  SourceConditionNotMet: [412, 'The source condition specified using HTTP conditional header(s) is not met.'],
  TargetConditionNotMet: [412, 'The target condition specified using HTTP conditional header(s) is not met.'],
  AccessTierChangeTimeConditionNotMet: [412, 'The condition specified using access tier change time conditional header(s) is not met.'],
  UpdateConditionNotSatisfied: [412, 'The update condition specified in the request was not satisfied.'],
  // 400: the request itself
  ConditionHeadersNotSupported: [400, 'Condition headers are not supported.'],
  MultipleConditionHeadersNotSupported: [400, 'Multiple condition headers are not supported.'],
  UnsatisfiableCondition: [400, 'The request includes an unsatisfiable condition for this operation.'],
  ErrorProcessingQueryExpression: [400, 'Syntax error!'],
  EmptyMetadataKey: [400, 'The key for one of the metadata key-value pairs is empty.'],
  InvalidAuthenticationInfo: [400, 'Authentication information is not given in the correct format. Check the value of Authorization header.'],
  InvalidHeaderValue: [400, 'The value for one of the HTTP headers is not in the correct format.'],
  ExpiryNotSupportedForDirectory: [400, 'Set Expiry is not supported for a directory'],
  InvalidHttpVerb: [400, 'The HTTP verb specified is invalid.'],
  InvalidInput: [400, 'One of the request inputs is not valid.'],
  InvalidMd5: [400, 'The MD5 value specified in the request is invalid. MD5 value must be 128 bits and base64 encoded.'],
  InvalidMetadata: [400, 'The metadata specified is invalid. It has characters that are not permitted.'],
  InvalidQueryParameterValue: [400, 'Value for one of the query parameters specified in the request URI is invalid.'],
  // The service's own spelling.
  InvalidResourceName: [400, 'The specifed resource name contains invalid characters.'],
  InvalidUri: [400, 'The requested URI does not represent any resource on the server.'],
  InvalidXmlDocument: [400, 'XML specified is not syntactically valid.'],
  InvalidXmlNodeValue: [400, 'The value for one of the XML nodes is not in the correct format.'],
  Md5Mismatch: [400, 'The MD5 value specified in the request did not match with the MD5 value calculated by the server.'],
  Crc64Mismatch: [400, 'The CRC64 value specified in the request did not match with the CRC64 value calculated by the server.'],
  BothCrc64AndMd5HeaderPresent: [400, 'Both x-ms-content-crc64 header and Content-MD5 header are present.'],
  BothCrc64AndMd5RangeHeaderPresent: [400, 'Both x-ms-range-get-content-crc64 header and x-ms-range-get-content-md5 header are present.'],
  MetadataTooLarge: [400, 'The size of the specified metadata exceeds the maximum size permitted.'],
  MissingRequiredHeader: [400, 'An HTTP header that\'s mandatory for this request is not specified.'],
  MissingRequiredQueryParameter: [400, 'A query parameter that\'s mandatory for this request is not specified.'],
  MutuallyExclusiveQueryParameters: [400, 'The query parameters specified in the request URI are mutually exclusive.'],
  MissingRequiredXmlNode: [400, 'A required XML node was not specified in the request body.'],
  OutOfRangeInput: [400, 'One of the request inputs is out of range.'],
  OutOfRangeQueryParameterValue: [400, 'One of the query parameters specified in the request URI is outside the permissible range.'],
  RequestUrlFailedToParse: [400, 'The url in the request could not be parsed.'],
  UnsupportedHeader: [400, 'One of the headers specified in the request is not supported.'],
  UnsupportedQueryParameter: [400, 'One of the query parameters specified in the request URI is not supported.'],
  UnsupportedXmlNode: [400, 'One of the XML nodes specified in the request body is not supported.'],
  // 400: tags, blocks, leases, copies, pages
  DuplicateTagNames: [400, 'The tags specified contain duplicate names.'],
  EmptyTagName: [400, 'The name of one of the tag key-value pairs is empty.'],
  InvalidTag: [400, 'The tags specified are invalid. It contains characters that are not permitted.'],
  TagsTooLarge: [400, 'The tags specified exceed the maximum permissible limit.'],
  BothUserTagsAndSourceTagsCopyPresentException: [400, 'x-ms-tags header and x-ms-copy-source-tag-option with value COPY are both present.'],
  BlockListTooLong: [400, 'The block list may not contain more than 50,000 blocks.'],
  InvalidBlobOrBlock: [400, 'The specified blob or block content is invalid.'],
  InvalidBlobTier: [400, 'The specified blob tier is invalid.'],
  InvalidBlockList: [400, 'The specified block list is invalid.'],
  InvalidVersionForPageBlobOperation: [400, 'All operations on page blobs require at least version 2009-09-19.'],
  PreviousSnapshotCannotBeNewer: [400, 'The prevsnapshot query parameter value cannot be newer than snapshot query parameter value.'],
  // 400: tables and entities
  DuplicatePropertiesSpecified: [400, 'A property is specified more than one time.'],
  EntityTooLarge: [400, 'The entity is larger than the maximum size permitted.'],
  HostInformationNotPresent: [400, 'The required host information is not present in the request. You must send a non-empty Host header or include the absolute URI in the request line.'],
  InvalidValueType: [400, 'The value specified is invalid.'],
  PropertiesNeedValue: [400, 'The values are not specified for all properties in the entity.'],
  PropertyNameInvalid: [400, 'The property name is invalid.'],
  PropertyNameTooLong: [400, 'The property name exceeds the maximum allowed length.'],
  PropertyValueTooLarge: [400, 'The property value is larger than the maximum size permitted.'],
  TooManyProperties: [400, 'The entity contains more properties than allowed.'],
  XMethodIncorrectCount: [400, 'More than one X-HTTP-Method is specified.'],
  XMethodIncorrectValue: [400, 'The specified X-HTTP-Method is invalid.'],
  XMethodNotUsingPost: [400, 'The request uses X-HTTP-Method with an HTTP verb other than POST.'],
  // 400: queues
  InvalidMarker: [400, 'The specified marker is invalid.'],
  MessageTooLarge: [400, 'The message exceeds the maximum allowed size.'],
  PopReceiptMismatch: [400, 'The specified pop receipt did not match the pop receipt for a dequeued message.'],
  // 400: batches
  AllBatchSubRequestsShouldBeSameApi: [400, 'All batch subrequests should be the same api.'],
  ExceedsMaxBatchRequestCount: [400, 'The batch operation exceeds maximum number of allowed subrequests.'],
  CommandsInBatchActOnDifferentPartitions: [400, 'All commands in a batch must operate on same entity group.'],
  InvalidDuplicateRow: [400, 'The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.'],
  // 400: shares, directories and files
  CannotConvertToSddlDueToCustomAce: [400, 'Permissions can\'t be converted to SDDL due to the presence of custom ACE in the ACLs.'],
  FileInvalidPermission: [400, 'The specified file permission is not valid.'],
  FileInvalidPermissionKey: [400, 'The specified file permission key does not exist in the share.'],
  HandleLimitExceeded: [400, 'The limit of open handles on the file or directory has been exceeded.'],
  InvalidFileOrDirectoryPathName: [400, 'The specified file or directory path name is not valid.'],
  ShareSnapshotOperationNotSupported: [400, 'The operation is not supported on a share snapshot.'],
  // 400: paths of Data Lake Storage
  ContentLengthMustBeZero: [400, 'The Content-Length request header must be zero.'],
  DefaultAclOnFileNotAllowed: [400, 'A default access control list can only be set on a directory.'],
  HierarchicalNamespaceNotEnabled: [400, 'The hierarchical namespace is not enabled for this account.'],
  // The service's own spelling.
  InvaldAccessControlList: [400, 'The access control list value is invalid.'],
  InvalidAppendPosition: [400, 'The append position is invalid.'],
  InvalidFlushPosition: [400, 'The uploaded data is not contiguous or the position query parameter value is not equal to the length of the file after appending the uploaded data.'],
  InvalidPropertyName: [400, 'The property name contains invalid characters.'],
  InvalidSourceUri: [400, 'The source URI is invalid.'],
  // 401, 403: authentication and authorization
  NoAuthenticationInformation: [401, 'Server failed to authenticate the request. Please refer to the information in the www-authenticate header.'],
  AuthenticationFailed: [403, 'Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature.'],
  AuthorizationFailure: [403, 'This request is not authorized to perform this operation.'],
  AuthorizationPermissionMismatch: [403, 'This request is not authorized to perform this operation using this permission.'],
  AuthorizationProtocolMismatch: [403, 'This request is not authorized to perform this operation using this protocol.'],
  AuthorizationResourceTypeMismatch: [403, 'This request is not authorized to perform this operation using this resource type.'],
  AuthorizationServiceMismatch: [403, 'This request is not authorized to perform this operation using this service.'],
  AuthorizationSourceIPMismatch: [403, 'This request is not authorized to perform this operation using this source IP.'],
  CorsPreflightFailure: [403, 'CORS not enabled or no matching rule found for this request.'],
  InsufficientAccountPermissions: [403, 'The account being accessed does not have sufficient permissions to execute this operation.'],
  UnauthorizedBlobOverwrite: [403, 'This request is not authorized to perform blob overwrites.'],
  WriteOperationNotSupportedOnSecondary: [403, 'Write operations are not allowed on the secondary endpoint.'],
  OperationNotAllowedOnRootBlob: [403, 'The specified operation is not allowed on root blob.'],
  RequestForbiddenByContainerEncryptionPolicy: [403, 'The request is forbidden by the container encryption policy.'],
  // 404
  BlobNotFound: [404, 'The specified blob does not exist.'],
  ContainerNotFound: [404, 'The specified container does not exist.'],
  CannotVerifyCopySource: [404, 'The specified resource does not exist.'],
  EncryptionScopeNotFound: [404, 'The specified encryption scope does not exist.'],
  MessageNotFound: [404, 'The specified message does not exist.'],
  QueueNotFound: [404, 'The specified queue does not exist.'],
  WebContentNotFound: [404, 'The requested content does not exist.'],
  ParentNotFound: [404, 'The specified parent path does not exist.'],
  ResourceNotFound: [404, 'The specified resource does not exist.'],
  ShareNotFound: [404, 'The specified share does not exist.'],
  ShareSnapshotNotFound: [404, 'The specified share snapshot does not exist.'],
  TableNotFound: [404, 'The table specified does not exist.'],
  FilesystemNotFound: [404, 'The specified filesystem does not exist.'],
  PathNotFound: [404, 'The specified path does not exist.'],
  RenameDestinationParentPathNotFound: [404, 'The parent directory of the destination path does not exist.'],
  SourcePathNotFound: [404, 'The source path for a rename operation does not exist.'],
  // 405
  UnsupportedHttpVerb: [405, 'The resource doesn\'t support specified Http Verb.'],
  MethodNotAllowed: [405, 'The requested method is not allowed on the specified resource.'],
  // 409
  BlobAlreadyExists: [409, 'The specified blob already exists.'],
  ContainerAlreadyExists: [409, 'The specified container already exists.'],
  ContainerBeingDeleted: [409, 'The specified container is being deleted. Try operation later.'],
  EntityAlreadyExists: [409, 'The specified entity already exists.'],
  TableAlreadyExists: [409, 'The table specified already exists.'],
  TableBeingDeleted: [409, 'The specified table is being deleted. Try operation later.'],
  BlobArchived: [409, 'This operation is not permitted on an archived blob.'],
  BlobBeingRehydrated: [409, 'This operation is not permitted because the blob is being rehydrated.'],
  BlobCustomerSpecifiedEncryptionMismatch: [409, 'The given customer specified encryption does not match the encryption used to encrypt the blob.'],
  BlobImmutableDueToLegalHold: [409, 'This operation is not permitted as the blob is immutable due to one or more legal holds.'],
  BlobImmutableDueToPolicy: [409, 'This operation is not permitted as the blob is immutable due to a policy.'],
  BlobOperationNotSupported: [409, 'The operation is not supported in this scenario.'],
  BlobIsSealed: [409, 'The blob is sealed and its contents cannot be modified.'],
  BlobSnapshotNotSoftDeleted: [409, 'The specified snapshot or version of the blob is not soft-deleted.'],
  BlobOverwritten: [409, 'The blob has been recreated since the previous snapshot was taken.'],
  BlobUsesCustomerSpecifiedEncryption: [409, 'The blob is encrypted with customer specified encryption, but it was not provided in the request.'],
  BlobDoesNotUseCustomerSpecifiedEncryption: [409, 'The blob is not encrypted with customer specified encryption, but one was provided in the request.'],
  BlockCountExceedsLimit: [409, 'The committed block count cannot exceed the maximum limit of 50,000 blocks.'],
  BlobTierInadequateForContentLength: [409, 'The specified blob tier size limit cannot be less than content length.'],
  CannotChangeToLowerTier: [409, 'A higher blob tier has already been explicitly set.'],
  CopyIdMismatch: [409, 'The specified copy ID did not match the copy ID for the pending copy operation.'],
  ImmutabilityPolicyDeleteOnLockedPolicy: [409, 'A locked immutability policy can only be extended.'],
  FeatureVersionMismatch: [409, 'The operation for the blob requires a later version of the service.'],
  IncrementalCopyBlobMismatch: [409, 'The specified source blob is different than the copy source of the existing incremental copy blob.'],
  IncrementalCopyOfEarlierSnapshotNotAllowed: [409, 'The specified snapshot is earlier than the last snapshot copied into the incremental copy blob.'],
  IncrementalCopySourceMustBeSnapshot: [409, 'The source for incremental copy request must be a snapshot.'],
  InvalidBlobType: [409, 'The blob type is invalid for this operation.'],
  InvalidSourceBlobType: [409, 'The copy source blob type is invalid for this operation.'],
  InvalidSourceBlobUrl: [409, 'The source URL for incremental copy request must be a valid snapshot URL.'],
  LeaseAlreadyPresent: [409, 'There is already a lease present.'],
  LeaseIdMismatchWithLeaseOperation: [409, 'The lease ID specified did not match the lease ID for the resource with the specified lease operation.'],
  LeaseIsBreakingAndCannotBeAcquired: [409, 'The lease ID matched, but the lease is currently in breaking state and cannot be acquired until it is broken.'],
  LeaseIsBreakingAndCannotBeChanged: [409, 'The lease ID matched, but the lease is currently in breaking state and cannot be changed.'],
  LeaseIsBrokenAndCannotBeRenewed: [409, 'The lease ID matched, but the lease has been broken explicitly and cannot be renewed.'],
  LeaseNotPresentWithLeaseOperation: [409, 'There is currently no lease on the resource.'],
  MemoryExtentStoreAtSizeLimit: [409, 'The in-memory extent store is at its size limit. No new extents can be added.'],
  NoPendingCopyOperation: [409, 'There is currently no pending copy operation.'],
  OperationNotAllowedOnIncrementalCopyBlob: [409, 'The specified operation is not allowed on an incremental copy blob.'],
  PendingCopyOperation: [409, 'There is currently a pending copy operation.'],
  PreviousSnapshotNotFound: [409, 'The previous snapshot is not found.'],
  PreviousSnapshotOperationNotSupported: [409, 'Differential Get Page Ranges is not supported on the previous snapshot.'],
  PublicAccessNotPermitted: [409, 'Public access is not permitted on this storage account.'],
  QueueAlreadyExists: [409, 'The specified queue already exists.'],
  QueueBeingDeleted: [409, 'The specified queue is being deleted.'],
  QueueDisabled: [409, 'The specified queue has been disabled by the administrator.'],
  QueueNotEmpty: [409, 'The specified queue is not empty.'],
  ResourceAlreadyExists: [409, 'The specified resource already exists.'],
  ResourceTypeMismatch: [409, 'The specified resource type does not match the type of the existing resource.'],
  SequenceNumberIncrementTooLarge: [409, 'The sequence number increment cannot be performed because it would result in overflow of the sequence number.'],
  SnapshotsPresent: [409, 'This operation is not permitted while the blob has snapshots.'],
  // 409, 500: shares, directories and files
  CannotDeleteFileOrDirectory: [409, 'The file or directory could not be deleted.'],
  ContainerQuotaDowngradeNotAllowed: [409, 'The share quota can\'t be lowered yet.'],
  DeleteShareWhenSnapshotLeased: [409, 'Unable to delete share because one or more share snapshots have active leases. Release the share snapshot leases or delete the share with the include-leased parameter for x-ms-delete-snapshots.'],
  DirectoryNotEmpty: [409, 'The specified directory is not empty.'],
  FileGenerationMismatch: [409, 'The file was recreated between the previous share snapshot and the current one.'],
  FileLockConflict: [409, 'A portion of the specified file is locked by an SMB client.'],
  FileShareAccessTierTransitionNotAllowed: [409, 'The access tier of the share can\'t be changed to the specified one.'],
  ReadOnlyAttribute: [409, 'The specified resource is read-only and cannot be modified at this time.'],
  ShareAlreadyExists: [409, 'The specified share already exists.'],
  ShareBeingDeleted: [409, 'The specified share is being deleted. Try operation later.'],
  ShareHasSnapshots: [409, 'The share has snapshots and the operation requires no snapshots.'],
  ShareSizeLimitReached: [409, 'The specified share has reached its size limit.'],
  ShareSnapshotCountExceeded: [409, 'The total number of snapshots for the share is over the limit.'],
  ShareSnapshotInProgress: [409, 'An operation is in progress on the share snapshot.'],
  SharingViolation: [409, 'The specified resource may be in use by an SMB client.'],
  SMBDeletePending: [409, 'The specified resource is marked for deletion by an SMB client.'],
  ClientCacheFlushDelay: [500, 'The specified resource state could not be flushed from an SMB client in the specified time.'],
  // 409: paths of Data Lake Storage
  DestinationPathIsBeingDeleted: [409, 'The specified destination path is marked to be deleted.'],
  /** On the blob endpoint; DirectoryNotEmpty on the other one. */
  DirectoryIsNotEmpty: [409, 'This operation is not permitted on a non-empty directory.'],
  FilesystemAlreadyExists: [409, 'The specified filesystem already exists.'],
  FilesystemBeingDeleted: [409, 'The specified filesystem is being deleted.'],
  InvalidAppendOperation: [409, 'The resource was created or modified by the Azure Blob Service API and cannot be appended to by the Azure Data Lake Storage Service API.'],
  InvalidDestinationPath: [409, 'The specified path, or an element of the path, exists and its resource type is invalid for this operation.'],
  InvalidFlushOperation: [409, 'The resource was created or modified by the Blob Service API and cannot be written to by the Data Lake Storage Service API.'],
  InvalidRenameSourcePath: [409, 'The source directory cannot be the same as the destination directory, nor can the destination be a subdirectory of the source directory.'],
  InvalidSourceOrDestinationResourceType: [409, 'The source and destination resource type must be identical.'],
  PathAlreadyExists: [409, 'The specified path already exists.'],
  PathIsTooDeep: [409, 'This operation is not permitted as the path is too deep.'],
  PathConflict: [409, 'The specified path, or an element of the path, exists and its resource type is invalid for this operation.'],
  SourcePathIsBeingDeleted: [409, 'The specified source path is marked to be deleted.'],
  // 411, 413, 415, 416
  MissingContentLengthHeader: [411, 'The Content-Length header was not specified.'],
  RequestBodyTooLarge: [413, 'The request body is too large and exceeds the maximum permissible limit.'],
  AtomFormatNotSupported: [415, 'Atom format is not supported.'],
  JsonVerboseFormatNotSupported: [415, 'Verbose JSON format is not supported.'],
  MediaTypeNotSupported: [415, 'None of the provided media types are supported'],
  JsonFormatNotSupported: [415, 'JSON format is not supported.'],
  InvalidRange: [416, 'The range specified is invalid for the current size of the resource.'],
  InvalidPageRange: [416, 'The page range specified is invalid.'],
  // 412: conditions of appends, pages and copies
  AppendPositionConditionNotMet: [412, 'The append position condition specified was not met.'],
  InfiniteLeaseDurationRequired: [412, 'The lease ID matched, but the specified lease must be an infinite-duration lease.'],
  MaxBlobSizeConditionNotMet: [412, 'The max blob size condition specified was not met.'],
  SequenceNumberConditionNotMet: [412, 'The sequence number condition specified was not met.'],
  // 412: leases on data operations
  LeaseIdMissing: [412, 'There is currently a lease on the resource and no lease ID was specified in the request.'],
  /** Data Lake Storage has one code for whatever is leased. */
  LeaseIdMismatch: [412, 'The lease ID specified did not match the lease ID for the resource.'],
  LeaseIdMismatchWithBlobOperation: [412, 'The lease ID specified did not match the lease ID for the blob.'],
  LeaseIdMismatchWithContainerOperation: [412, 'The lease ID specified did not match the lease ID for the container.'],
  LeaseIdMismatchWithFileOperation: [412, 'The lease ID specified did not match the lease ID for the file.'],
  LeaseLost: [412, 'A lease ID was specified, but the lease for the resource has expired.'],
  LeaseNotPresent: [412, 'There is currently no lease on the resource.'],
  LeaseNotPresentWithBlobOperation: [412, 'There is currently no lease on the blob.'],
  LeaseNotPresentWithContainerOperation: [412, 'There is currently no lease on the container.'],
  LeaseNotPresentWithFileOperation: [412, 'There is currently no lease on the file.'],
  // 429, 5xx
  TooManyRequests: [429, 'The request rate is too high. Please retry your request later.'],
  InternalError: [500, 'Server encountered an internal error. Please try again after some time.'],
  OperationTimedOut: [500, 'Operation could not be completed within the permitted time.'],
  APINotImplemented: [501, 'The requested operation is not implemented.'],
  NotImplemented: [501, 'The requested operation is not implemented on the specified resource.'],
  ServerBusy: [503, 'The server is currently unable to receive requests. Please retry your request.'],
} as const satisfies Record<string, readonly [status: number, message: string]>

export type ErrorCode = keyof typeof ERRORS

/** Additional nodes of the error body, e.g. HeaderName and HeaderValue. */
export type ErrorDetails = Readonly<Record<string, string>>

export class StorageError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly details: ErrorDetails

  constructor(
    code: ErrorCode,
    details: ErrorDetails = {},
    message: string = ERRORS[code][1],
    /** CannotVerifyCopySource has the status of the source. */
    status: number = ERRORS[code][0],
  ) {
    super(message)
    this.name = 'StorageError'
    this.code = code
    this.status = status
    this.details = details
  }
}

export function invalidHeader(name: string, value: string): StorageError {
  return new StorageError('InvalidHeaderValue', { HeaderName: name, HeaderValue: value })
}

export function missingHeader(name: string): StorageError {
  return new StorageError('MissingRequiredHeader', { HeaderName: name })
}

export function invalidXmlNode(name: string, value: string): StorageError {
  return new StorageError('InvalidXmlNodeValue', { XmlNodeName: name, XmlNodeValue: value })
}

export function invalidQuery(name: string, value: string, reason?: string): StorageError {
  return new StorageError('InvalidQueryParameterValue', {
    QueryParameterName: name,
    QueryParameterValue: value,
    ...(reason === undefined ? {} : { Reason: reason }),
  })
}

/** `bounds` are those that the service reports. */
export function outOfRangeQuery(
  name: string,
  value: string,
  bounds: { readonly min: number; readonly max: number },
): StorageError {
  return new StorageError('OutOfRangeQueryParameterValue', {
    QueryParameterName: name,
    QueryParameterValue: value,
    MinimumAllowed: String(bounds.min),
    MaximumAllowed: String(bounds.max),
  })
}
