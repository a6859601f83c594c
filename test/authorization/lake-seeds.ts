// A scenario of valid requests for every operation of Data Lake Storage, on an account with a hierarchical namespace.
import type { Seed } from '../hostile-seed.ts'

const LEASE = '6c1f4b1c-0b0e-4c39-8d6c-7c8f7a2f7d3e'
const FILE = '/{box}/dir/file'
const lease = (action: string, more: Record<string, string> = {}) => {
  return { 'x-ms-lease-action': action, ...more }
}
const ACQUIRE = lease('acquire', { 'x-ms-lease-duration': '15', 'x-ms-proposed-lease-id': LEASE })

// prettier-ignore
export const LAKE_SEEDS: readonly Seed[] = [
  { operation: 'Create Filesystem', status: 201, method: 'PUT', path: '/{box}?resource=filesystem' },
  { operation: 'Set Filesystem Properties', status: 200, method: 'PATCH', path: '/{box}?resource=filesystem', headers: { 'x-ms-properties': 'a=Yg==' } },
  { operation: 'Get Filesystem Properties', status: 200, method: 'HEAD', path: '/{box}?resource=filesystem' },
  { operation: 'List Filesystems', status: 200, method: 'GET', path: '/?resource=account' },
  { operation: 'Create Path', status: 201, method: 'PUT', path: '/{box}/dir?resource=directory' },
  { operation: 'Create Path', status: 201, method: 'PUT', path: `${FILE}?resource=file` },
  { operation: 'Create Path', status: 201, method: 'PUT', path: `${FILE}?resource=file`, headers: { 'x-ms-properties': 'a=Yg==' } },
  { operation: 'Append Data', status: 202, method: 'PATCH', path: `${FILE}?action=append&position=0`, body: 'hello' },
  { operation: 'Flush Data', status: 200, method: 'PATCH', path: `${FILE}?action=flush&position=5` },
  { operation: 'Read Path', status: 200, method: 'GET', path: FILE },
  { operation: 'Get Path Properties', status: 200, method: 'HEAD', path: FILE },
  { operation: 'Get Path Status', status: 200, method: 'HEAD', path: `${FILE}?action=getStatus` },
  { operation: 'Set Path Properties', status: 200, method: 'PATCH', path: `${FILE}?action=setProperties`, headers: { 'x-ms-properties': 'c=Yg==' } },
  { operation: 'Set Access Control', status: 200, method: 'PATCH', path: `${FILE}?action=setAccessControl`, headers: { 'x-ms-permissions': 'rwxr-x---' } },
  { operation: 'Set Access Control Recursive', status: 200, method: 'PATCH', path: '/{box}/dir?action=setAccessControlRecursive&mode=modify', headers: { 'x-ms-acl': 'user::rwx' } },
  { operation: 'Get Access Control', status: 200, method: 'HEAD', path: `${FILE}?action=getAccessControl` },
  { operation: 'Get Access Control', status: 200, method: 'HEAD', path: '/{box}/?action=getAccessControl' },
  { operation: 'Check Access', status: 200, method: 'HEAD', path: `${FILE}?action=checkAccess&fsAction=r--` },
  { operation: 'List Paths', status: 200, method: 'GET', path: '/{box}?resource=filesystem&recursive=true' },
  { operation: 'List Paths', status: 200, method: 'GET', path: '/{box}?resource=filesystem&recursive=false&directory=dir' },
  { operation: 'Lease Path', status: 201, method: 'POST', path: FILE, headers: ACQUIRE },
  { operation: 'Lease Path', status: 202, method: 'POST', path: FILE, headers: lease('break', { 'x-ms-lease-break-period': '0' }) },
  { operation: 'Lease Path', status: 200, method: 'POST', path: FILE, headers: lease('release', { 'x-ms-lease-id': LEASE }) },
  { operation: 'Set Path Expiry', status: 200, method: 'PUT', path: `${FILE}?comp=expiry`, headers: { 'x-ms-expiry-option': 'NeverExpire' } },
  { operation: 'Rename Path', status: 201, method: 'PUT', path: '/{box}/dir/renamed', headers: { 'x-ms-rename-source': '/{box}/dir/file' } },
  { operation: 'Delete Path', status: 200, method: 'DELETE', path: '/{box}/dir/renamed', keep: { deletion: 'x-ms-deletion-id' } },
  { operation: 'Undelete Path', status: 200, method: 'PUT', path: '/{box}/dir/renamed?comp=undelete', headers: { 'x-ms-undelete-source': 'dir/renamed?deletionid={deletion}' } },
  { operation: 'Delete Path', status: 200, method: 'DELETE', path: '/{box}/dir?recursive=true' },
  { operation: 'Delete Filesystem', status: 202, method: 'DELETE', path: '/{box}?resource=filesystem' },
]
