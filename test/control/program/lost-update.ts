// Lost updates of blobs, containers, files and shares. Each in a wrong form that has the race and in a right form that has none.
import {
  put,
  get,
  lease,
  held,
  etagOf,
  refused,
  file,
  createFile,
  putRange,
  type RaceProgram,
} from './requests.ts'

export const LOST_UPDATES: readonly RaceProgram[] = [
  {
    kind: 'lost update',
    name: 'two clients read a blob and write it',
    says: /"A" read \/devstoreaccount1\/box\/doc .*"B" changed it .*"A" overwrote it .*If-Match/,
    async wrong({ client }) {
      const [a, b] = [client('A'), client('B')]
      await put(b, '1')
      await Promise.all([get(a), get(b)])
      await put(b, '2')
      await put(a, '3')
    },
    async right({ client }) {
      const [a, b] = [client('A'), client('B')]
      const first = etagOf(await put(b, '1'))
      await Promise.all([get(a), get(b)])
      await put(b, '2', { 'if-match': first })
      await refused(put(a, '3', { 'if-match': first }), 412)
      await put(a, '3', { 'if-match': etagOf(await get(a)) })
    },
  },
  {
    kind: 'lost update',
    name: 'a lease is acquired after reading',
    says: /"A" read .*"B" changed/,
    async wrong({ client }) {
      const [a, b] = [client('A'), client('B')]
      await put(b, '1')
      await get(a)
      await put(b, '2')
      await lease(a, 'acquire')
      await put(a, '3', held())
      await lease(a, 'release')
    },
    async right({ client }) {
      const [a, b] = [client('A'), client('B')]
      await put(b, '1')
      await lease(a, 'acquire')
      await get(a)
      await refused(put(b, '2'), 412)
      await put(a, '3', held())
      await lease(a, 'release')
    },
  },
  {
    kind: 'lost update',
    name: 'If-Match: * on a blob',
    says: /overwrote it without a condition/,
    async wrong({ client }) {
      const [a, b] = [client('A'), client('B')]
      await put(b, '1')
      await get(a)
      await put(b, '2')
      await put(a, '3', { 'if-match': '*' })
    },
    async right({ client }) {
      const etag = etagOf(await put(client('A'), '1'))
      await put(client('B'), '2')
      await refused(put(client('A'), '3', { 'if-match': etag }), 412)
    },
  },
  {
    kind: 'lost update',
    name: 'two clients that write without ever reading',
    says: /Neither has ever read it, so the last writer wins/,
    isHarmless: true,
    async wrong({ client }) {
      await put(client('A'), '1')
      await put(client('B'), '2')
      await put(client('A'), '3')
    },
    // Each is its own.
    async right({ client }) {
      await put(client('A'), '1')
      await client('B').blob('PUT', '/box/other', { 'x-ms-blob-type': 'BlockBlob' }, '2')
      await put(client('A'), '3')
    },
  },
  {
    kind: 'lost update',
    name: 'metadata of a blob',
    says: /"B" changed it \(entry \d+, Set Blob Metadata/,
    async wrong({ client }) {
      const [a, b] = [client('A'), client('B')]
      await put(b, '1')
      await a.blob('HEAD', '/box/doc')
      await b.blob('PUT', '/box/doc?comp=metadata', { 'x-ms-meta-b': '1' })
      await a.blob('PUT', '/box/doc?comp=metadata', { 'x-ms-meta-a': '1' })
    },
    // Properties and metadata are apart, so neither overwrites the other.
    async right({ client }) {
      const [a, b] = [client('A'), client('B')]
      await put(b, '1')
      await a.blob('HEAD', '/box/doc')
      await b.blob('PUT', '/box/doc?comp=metadata', { 'x-ms-meta-b': '1' })
      await a.blob('PUT', '/box/doc?comp=properties', { 'x-ms-blob-content-type': 'a/a' })
    },
  },
  {
    kind: 'lost update',
    name: 'metadata of a container',
    says: /Set Container Metadata/,
    async wrong({ client }) {
      const [a, b] = [client('A'), client('B')]
      await a.blob('GET', '/box?restype=container')
      await b.blob('PUT', '/box?restype=container&comp=metadata', { 'x-ms-meta-b': '1' })
      await a.blob('PUT', '/box?restype=container&comp=metadata', { 'x-ms-meta-a': '1' })
    },
    async right({ client }) {
      const [a, b] = [client('A'), client('B')]
      await b.blob('PUT', '/box?restype=container&comp=metadata', { 'x-ms-meta-b': '1' })
      await a.blob('GET', '/box?restype=container')
      await a.blob('PUT', '/box?restype=container&comp=metadata', { 'x-ms-meta-a': '1' })
    },
  },
  {
    kind: 'lost update',
    name: 'a deletion that is undone',
    says: /"B" deleted it/,
    async wrong({ client }) {
      const [a, b] = [client('A'), client('B')]
      await put(b, '1')
      await get(a)
      await b.blob('DELETE', '/box/doc')
      await put(a, '2')
    },
    async right({ client }) {
      const [a, b] = [client('A'), client('B')]
      await put(b, '1')
      await get(a)
      await b.blob('DELETE', '/box/doc')
      await put(a, '2', { 'if-none-match': '*' })
    },
  },
  {
    kind: 'lost update',
    name: 'a range of a file',
    says: /Put Range.*Acquire a lease before reading/,
    async wrong({ client }) {
      const [a, b] = [client('A'), client('B')]
      await createFile(b)
      await file(a, 'GET')
      await putRange(b, 'bbbb')
      await putRange(a, 'aaaa', 2)
    },
    async right({ client }) {
      const [a, b] = [client('A'), client('B')]
      await createFile(b)
      await file(a, 'GET')
      await putRange(b, 'bbbb')
      await putRange(a, 'aaaa', 4)
    },
  },
  {
    kind: 'lost update',
    name: 'metadata of a share',
    says: /Set Share Metadata/,
    async wrong({ client }) {
      const [a, b] = [client('A'), client('B')]
      await a.file('GET', '/share?restype=share')
      await b.file('PUT', '/share?restype=share&comp=metadata', { 'x-ms-meta-b': '1' })
      await a.file('PUT', '/share?restype=share&comp=metadata', { 'x-ms-meta-a': '1' })
    },
    async right({ client }) {
      const [a, b] = [client('A'), client('B')]
      await b.file('PUT', '/share?restype=share&comp=metadata', { 'x-ms-meta-b': '1' })
      await a.file('GET', '/share?restype=share')
      await a.file('PUT', '/share?restype=share&comp=metadata', { 'x-ms-meta-a': '1' })
    },
  },
  {
    kind: 'lost update',
    name: 'metadata of a directory',
    says: /Set Directory Metadata/,
    async wrong({ client }) {
      const [a, b] = [client('A'), client('B')]
      await b.file('PUT', '/share/d?restype=directory')
      await a.file('GET', '/share/d?restype=directory')
      await b.file('PUT', '/share/d?restype=directory&comp=metadata', { 'x-ms-meta-b': '1' })
      await a.file('PUT', '/share/d?restype=directory&comp=metadata', { 'x-ms-meta-a': '1' })
    },
    // Files in a directory come and go without a change of its metadata.
    async right({ client }) {
      const [a, b] = [client('A'), client('B')]
      await b.file('PUT', '/share/d?restype=directory')
      await a.file('GET', '/share/d?restype=directory')
      await b.file('PUT', '/share/d/f', { 'x-ms-type': 'file', 'x-ms-content-length': '1' })
      await a.file('PUT', '/share/d?restype=directory&comp=metadata', { 'x-ms-meta-a': '1' })
    },
  },
  {
    kind: 'lost update',
    name: 'a file that was written over SMB',
    says: /WRITE at .*Create File/,
    async wrong({ client, writeOverSmb }) {
      const a = client('A')
      await createFile(a)
      await file(a, 'GET')
      await writeOverSmb('b')
      await createFile(a)
    },
    async right({ client, writeOverSmb }) {
      const a = client('A')
      await createFile(a)
      await writeOverSmb('b')
      await file(a, 'GET')
      await createFile(a)
    },
  },
  {
    kind: 'lost update',
    name: 'a deletion of what was read before',
    says: /"A" deleted it/,
    async wrong({ client }) {
      const [a, b] = [client('A'), client('B')]
      await put(b, '1')
      await get(a)
      await put(b, '2')
      await a.blob('DELETE', '/box/doc')
    },
    async right({ client }) {
      const [a, b] = [client('A'), client('B')]
      await put(a, '1')
      await put(b, '2')
      // It has not read anything, so it knows that it wants to delete whatever is there.
      await a.blob('DELETE', '/box/doc')
    },
  },
]
