// A scenario of valid requests for every operation of the Queue service, to be mutated.
import type { Seed } from './hostile-seed.ts'

const retention = '<RetentionPolicy><Enabled>true</Enabled><Days>3</Days></RetentionPolicy>'
const PROPERTIES =
  '<StorageServiceProperties><Logging><Version>1.0</Version><Delete>true</Delete><Read>false</Read><Write>true</Write>' +
  `${retention}</Logging><HourMetrics><Version>1.0</Version><Enabled>false</Enabled>` +
  `${retention}</HourMetrics><Cors><CorsRule><AllowedMethods>GET</AllowedMethods><AllowedOrigins>*</AllowedOrigins>` +
  '<AllowedHeaders>*</AllowedHeaders><ExposedHeaders>*</ExposedHeaders><MaxAgeInSeconds>5</MaxAgeInSeconds></CorsRule></Cors></StorageServiceProperties>'
const IDENTIFIERS =
  '<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Start>2026-01-01T00:00:00Z</Start>' +
  '<Expiry>2099-01-01</Expiry><Permission>raup</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>'
const KEY_INFO = '<KeyInfo><Start>{soon}</Start><Expiry>{later}</Expiry></KeyInfo>'
const message = (text: string) => `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>`
const MESSAGE = { id: '<MessageId>', receipt: '<PopReceipt>' }
const CLAIM = '/{queue}/messages/{id}?popreceipt={receipt}'

// prettier-ignore
export const QUEUE_SEEDS: readonly Seed[] = [
  { operation: 'Set Service Properties', status: 202, method: 'PUT', path: '/?restype=service&comp=properties', body: PROPERTIES },
  { operation: 'Get Service Properties', status: 200, method: 'GET', path: '/?restype=service&comp=properties' },
  { operation: 'Get Service Stats', status: 200, method: 'GET', path: '/?restype=service&comp=stats', secondary: true },
  { operation: 'Get User Delegation Key', status: 200, method: 'POST', path: '/?restype=service&comp=userdelegationkey', body: KEY_INFO, as: 'token' },
  { operation: 'Create Queue', status: 201, method: 'PUT', path: '/{queue}', headers: { 'x-ms-meta-one': '1' } },
  { operation: 'Set Queue Metadata', status: 204, method: 'PUT', path: '/{queue}?comp=metadata', headers: { 'x-ms-meta-two': '2' } },
  { operation: 'Get Queue Metadata', status: 200, method: 'HEAD', path: '/{queue}?comp=metadata' },
  { operation: 'Set Queue ACL', status: 204, method: 'PUT', path: '/{queue}?comp=acl', body: IDENTIFIERS },
  { operation: 'Get Queue ACL', status: 200, method: 'GET', path: '/{queue}?comp=acl', headers: { origin: 'https://a.example' } },
  { operation: 'List Queues', status: 200, method: 'GET', path: '/?comp=list&maxresults=1&include=metadata', keep: { queues: '<NextMarker>' } },
  { operation: 'List Queues', status: 200, method: 'GET', path: '/?comp=list&marker={queues}' },
  { operation: 'Put Message', status: 201, method: 'POST', path: '/{queue}/messages?visibilitytimeout=0&messagettl=3600', body: message('hello &amp; &#xFC;') },
  { operation: 'Put Message', status: 201, method: 'POST', path: '/{queue}/messages?messagettl=-1', body: message('x'.repeat(9_000)) },
  { operation: 'Put Message', status: 201, method: 'POST', path: '/{queue}/messages?visibilitytimeout=5', body: message('') },
  { operation: 'Peek Messages', status: 200, method: 'GET', path: '/{queue}/messages?peekonly=true&numofmessages=32' },
  { operation: 'Get Messages', status: 200, method: 'GET', path: '/{queue}/messages?numofmessages=1&visibilitytimeout=30', keep: MESSAGE },
  { operation: 'Update Message', status: 204, method: 'PUT', path: `${CLAIM}&visibilitytimeout=60`, body: message('new'), keep: { receipt: 'x-ms-popreceipt' } },
  { operation: 'Update Message', status: 204, method: 'PUT', path: `${CLAIM}&visibilitytimeout=0`, keep: { receipt: 'x-ms-popreceipt' } },
  { operation: 'Get Messages', status: 200, method: 'GET', path: '/{queue}/messages', keep: MESSAGE },
  { operation: 'Delete Message', status: 204, method: 'DELETE', path: CLAIM },
  { operation: 'Clear Messages', status: 204, method: 'DELETE', path: '/{queue}/messages' },
  { operation: 'Put Message', status: 201, method: 'POST', path: '/{queue}/messages', body: message('last') },
  { operation: 'Delete Queue', status: 204, method: 'DELETE', path: '/{queue}' },
]
