// The permissions of every operation, by service. See rule.ts for what the letters mean and where they are from.
import { rulesFrom, type Rule } from './rule.ts'

export const SERVICES = ['blob', 'queue', 'table', 'file', 'dfs'] as const
export type MatrixService = (typeof SERVICES)[number]

const SERVICE = `
  Get Service Properties: s r -
  Set Service Properties: s w -
  Get Service Stats: s r -
  Get User Delegation Key: s - - only
`

/**
 * Where an operation needs different letters for what it does, the rule is that of its seed: a transaction that reads needs r, the mode of
 * a path p (its owner would need o), and a rename with one SAS for both paths needs m.
 */
export const RULES: Readonly<Record<MatrixService, ReadonlyMap<string, Rule>>> = {
  blob: rulesFrom(`
    ${SERVICE}
    Get Account Information: s rwdlacup rwdlacup never
    List Containers: s l -
    Find Blobs by Tags: s f -
    Submit Batch: s rwdlacuptfxi -
    Submit Batch in Container: c rwdlacuptfxi rwdlacuptfxi

    Create Container: c cw -
    Get Container Properties: c r - container
    Delete Container: c d -
    Get Container Metadata: c r - container
    Set Container Metadata: c w -
    Get Container ACL: c - -
    Set Container ACL: c - -
    Lease Container: c w -
    Lease Container, break: c wd -
    Restore Container: c w -
    Rename Container: c w -
    List Blobs: c l l container
    List Blobs, deleted and uncommitted: c l l
    Find Blobs by Tags in Container: c f f

    Put Blob: o cw cw
    Put Blob From URL: o cw cw
    Put Page Blob: o cw cw
    Put Append Blob: o cw cw
    Copy Blob: o cw cw
    Copy Blob From URL: o cw cw
    Incremental Copy Blob: o w w
    Abort Copy Blob: o w w
    Snapshot Blob: o cw cw
    Get Blob: o r r blob
    Get Blob Properties: o r r blob
    Get Blob Metadata: o r r blob
    Set Blob Metadata: o w w
    Set Blob Properties: o w w
    Delete Blob: o d d
    Delete Blob, permanently: o y y
    Delete Blob, a version: o x x
    Undelete Blob: o w w
    Set Blob Tier: o w w
    Lease Blob: o w w
    Lease Blob, break: o wd wd
    Get Blob Tags: o t t
    Set Blob Tags: o t t
    Set Blob Expiry: o w w
    Set Blob Immutability Policy: o i i
    Delete Blob Immutability Policy: o i i
    Set Blob Legal Hold: o i i
    Query Blob Contents: o r r
    Put Block: o cw cw
    Put Block From URL: o cw cw
    Put Block List: o cw cw
    Get Block List: o r r blob
    Get Block List, uncommitted: o r r
    Put Page: o w w
    Put Page From URL: o w w
    Clear Pages: o w w
    Get Page Ranges: o r r blob
    Get Page Ranges Diff: o r r blob
    Append Block: o aw aw
    Append Block From URL: o aw aw
    Seal Append Blob: o w w
  `),
  queue: rulesFrom(`
    ${SERVICE}
    List Queues: s l -
    Create Queue: c cw -
    Delete Queue: c d -
    Get Queue Metadata: c r r
    Set Queue Metadata: c w -
    Get Queue ACL: c - -
    Set Queue ACL: c - -
    Put Message: o a a
    Peek Messages: o r r
    Get Messages: o p p
    Clear Messages: o d -
    Update Message: o u u
    Delete Message: o p p
  `),
  table: rulesFrom(`
    ${SERVICE}
    Query Tables: c l -
    Get Table: c l -
    Create Table: c cw -
    Delete Table: c d -
    Get Table ACL: c - - never
    Set Table ACL: c - - never
    Query Entities: o r r
    Get Entity: o r r
    Insert Entity: o a a
    Update Entity: o u u
    Merge Entity: o u u
    Insert Or Replace Entity: o au au all
    Insert Or Merge Entity: o au au all
    Delete Entity: o d d
    Entity Group Transaction: o r r
  `),
  file: rulesFrom(`
    ${SERVICE}
    List Shares: s l -
    Create Share: c cw -
    Get Share Properties: c r -
    Delete Share: c d -
    Set Share Properties: c w -
    Get Share Metadata: c r -
    Set Share Metadata: c w -
    Get Share ACL: c - -
    Set Share ACL: c - -
    Get Share Stats: c r -
    Snapshot Share: c cw -
    Restore Share: c w -
    Lease Share: c w -
    Lease Share, break: c wd -
    Create Permission: c w -
    Get Permission: c r -
    Create Directory: o cw cw
    Get Directory Properties: o r r
    Delete Directory: o d d
    Set Directory Properties: o w w
    Get Directory Metadata: o r r
    Set Directory Metadata: o w w
    List Directories and Files: c l l
    List Handles: c l l
    Force Close Handles: o w w
    Rename Directory: o w w
    Copy File: o cw cw
    Create File: o cw cw
    Get File: o r r
    Get File Properties: o r r
    Delete File: o d d
    Set File Properties: o w w
    Get File Metadata: o r r
    Set File Metadata: o w w
    Put Range: o w w
    Put Range from URL: o w w
    Clear Range: o w w
    List Ranges: o r r
    Abort Copy File: o w w
    Rename File: o w w
    Lease File: o w w
    Lease File, break: o wd wd
    Create Symbolic Link: o cw cw
    Get Symbolic Link: o r r
    Create Hard Link: o cw cw
  `),
  dfs: rulesFrom(`
    List Filesystems: s l -
    Create Filesystem: c cw -
    Delete Filesystem: c d -
    Get Filesystem Properties: c r -
    Set Filesystem Properties: c w -
    List Paths: c l l
    Create Path: o cw cw
    Rename Path: o m m
    Set Path Expiry: o w w
    Undelete Path: o w w
    Append Data: o acw acw
    Flush Data: o acw acw
    Set Path Properties: o w w
    Set Access Control: o p p
    Set Access Control Recursive: o p p
    Get Access Control: o re re
    Check Access: o re re
    Get Path Status: o re re
    Get Path Properties: o r r blob
    Read Path: o r r blob
    Lease Path: o w w
    Lease Path, break: o wd wd
    Delete Path: o d d
  `),
}
