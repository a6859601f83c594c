// A scenario of valid requests for every operation of the Table service.
import type { Seed } from '../hostile-seed.ts'

const RETENTION = '<RetentionPolicy><Enabled>true</Enabled><Days>3</Days></RetentionPolicy>'
const PROPERTIES =
  '<StorageServiceProperties><Logging><Version>1.0</Version><Delete>false</Delete><Read>false</Read><Write>false</Write>' +
  `${RETENTION}</Logging></StorageServiceProperties>`
const IDENTIFIERS =
  '<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Start>2026-01-01T00:00:00Z</Start>' +
  '<Expiry>2099-01-01</Expiry><Permission>raud</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>'
const KEY_INFO = '<KeyInfo><Start>{soon}</Start><Expiry>{later}</Expiry></KeyInfo>'
const XML = { 'content-type': 'application/xml' }
const JSON_BODY = { 'content-type': 'application/json' }
const UPDATE = { ...JSON_BODY, 'if-match': '*' }
const entity = (row: string) => JSON.stringify({ PartitionKey: 'p', RowKey: row, A: 1 })
const ROW = "/{table}(PartitionKey='p',RowKey='r')"
const OTHER = "/{table}(PartitionKey='p',RowKey='other')"

/** The parts of a transaction are authorized by the query of the whole; reading needs r, so this one reads. */
const BATCH = [
  '--batch_1',
  'Content-Type: application/http',
  'Content-Transfer-Encoding: binary',
  '',
  "GET http://127.0.0.1/{account}/{table}(PartitionKey='p',RowKey='r') HTTP/1.1",
  'Accept: application/json',
  '',
  '',
  '--batch_1--',
  '',
].join('\r\n')

// prettier-ignore
export const TABLE_SEEDS: readonly Seed[] = [
  { operation: 'Set Service Properties', status: 202, method: 'PUT', path: '/?restype=service&comp=properties', headers: XML, body: PROPERTIES },
  { operation: 'Get Service Properties', status: 200, method: 'GET', path: '/?restype=service&comp=properties' },
  { operation: 'Get Service Stats', status: 200, method: 'GET', path: '/?restype=service&comp=stats', secondary: true },
  { operation: 'Get User Delegation Key', status: 200, method: 'POST', path: '/?restype=service&comp=userdelegationkey', headers: XML, body: KEY_INFO, as: 'token' },
  { operation: 'Create Table', status: 201, method: 'POST', path: '/Tables', headers: JSON_BODY, body: '{"TableName":"{table}"}' },
  { operation: 'Query Tables', status: 200, method: 'GET', path: '/Tables' },
  { operation: 'Get Table', status: 200, method: 'GET', path: "/Tables('{table}')" },
  { operation: 'Set Table ACL', status: 204, method: 'PUT', path: '/{table}?comp=acl', headers: XML, body: IDENTIFIERS },
  { operation: 'Get Table ACL', status: 200, method: 'GET', path: '/{table}?comp=acl' },
  { operation: 'Insert Entity', status: 201, method: 'POST', path: '/{table}', headers: JSON_BODY, body: entity('r') },
  { operation: 'Query Entities', status: 200, method: 'GET', path: '/{table}()' },
  { operation: 'Get Entity', status: 200, method: 'GET', path: ROW },
  { operation: 'Update Entity', status: 204, method: 'PUT', path: ROW, headers: UPDATE, body: entity('r') },
  { operation: 'Merge Entity', status: 204, method: 'MERGE', path: ROW, headers: UPDATE, body: entity('r') },
  { operation: 'Insert Or Replace Entity', status: 204, method: 'PUT', path: OTHER, headers: JSON_BODY, body: entity('other') },
  { operation: 'Insert Or Merge Entity', status: 204, method: 'MERGE', path: OTHER, headers: JSON_BODY, body: entity('other') },
  { operation: 'Entity Group Transaction', status: 202, method: 'POST', path: '/$batch', headers: { 'content-type': 'multipart/mixed; boundary=batch_1' }, body: BATCH },
  { operation: 'Delete Entity', status: 204, method: 'DELETE', path: OTHER, headers: { 'if-match': '*' } },
  { operation: 'Delete Table', status: 204, method: 'DELETE', path: "/Tables('{table}')" },
]
