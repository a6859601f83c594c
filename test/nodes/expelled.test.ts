// A node that others took for dead, because it was frozen, can't write any more when it goes on. It ends and says why.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { SKIP_REASON, testServer } from '../../src/postgres/harness.ts'
import { outcome, sendTo } from '../harness.ts'
import { cleanUp } from '../server-process.ts'
import { startLocalNode, startNodeProcess } from './rig.ts'

after(cleanUp)

test('a frozen node that was expelled can not write', { skip: SKIP_REASON ?? false }, async (t) => {
  const postgres = await testServer()
  const database = await postgres.newDatabase()
  const frozen = await startNodeProcess({ url: postgres.url(database), name: 'frozen' })
  const other = await startLocalNode({ url: postgres.url(database), name: 'other' })
  t.after(() => other.close())
  assert.equal(outcome(await sendTo(frozen.ports.blob)('PUT', '/box?restype=container')), '201')
  frozen.child.kill('SIGSTOP')
  const put = sendTo(frozen.ports.blob)('PUT', '/box/late', { 'x-ms-blob-type': 'BlockBlob' }, 'x')
  const answered = put.then(outcome, (error: unknown) => String(error))
  // As the node with the role sweeper does after 30 seconds of silence.
  await postgres.sql('SELECT lazuli.expel_1(min(number)) FROM lazuli.writer', database)
  frozen.child.kill('SIGCONT')
  const { code, stdout } = await frozen.ended
  assert.equal(code, 1)
  assert.match(stdout, /error: other nodes took this one for dead/)
  assert.match(await answered, /^503 ServerBusy$|ECONNRESET|socket hang up/)
  assert.equal(outcome(await sendTo(other.ports.blob)('GET', '/box/late')), '404 BlobNotFound')
  const again = await sendTo(other.ports.blob)('PUT', '/box/late', { 'x-ms-blob-type': 'BlockBlob' }, 'y') // prettier-ignore
  assert.equal(outcome(again), '201')
})
