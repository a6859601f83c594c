// Clients that begin a TLS handshake and never end it: they share the memory of strangers, so the oldest of them are dropped, and others are served.
import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { makeCa, makeServerCertificate } from '../../src/start/tls/certificate.ts'
import { cleanUp, startServerProcess, stop, tempFolder } from '../server-process.ts'
import { openSockets } from './world.ts'

after(cleanUp)

const COUNT = 3_000
/** 64 MiB, at 64 KiB for each. */
const HELD_MAX = 1_024
const TURNS_MAX = 1_000
/** The first bytes of a ClientHello of 200 bytes. */
const HELLO = Buffer.from([0x16, 0x03, 0x01, 0x00, 0xc8, 0x01, 0x00, 0x00, 0xc4, 0x03, 0x03])

test(`${COUNT} handshakes that are never finished`, async () => {
  const folder = tempFolder('half-tls')
  const ca = await makeCa(Date.now())
  const { certPem, keyPem } = await makeServerCertificate(ca, ['localhost'], Date.now())
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  writeFileSync(cert, certPem)
  writeFileSync(key, keyPem)
  const server = await startServerProcess({ args: ['--inMemoryPersistence', '--cert', cert, '--key', key] })
  const descriptors = (): number => readdirSync(`/proc/${server.child.pid}/fd`).length
  const start = descriptors()
  const sockets = await openSockets(COUNT, () => server.blobPort)
  for (const socket of sockets) socket.write(HELLO)
  await assertServed(server.blobPort, ca.certPem)
  assert(descriptors() < start + HELD_MAX + 64, `${descriptors()} descriptors`)
  for (const socket of sockets) socket.destroy()
  for (let turn = 0; descriptors() > start + 16; turn += 1) {
    assert(turn < TURNS_MAX, `there are still ${descriptors()} descriptors`)
    await assertServed(server.blobPort, ca.certPem)
  }
  await stop(server)
}) // prettier-ignore

async function assertServed(port: number, ca: string): Promise<void> {
  const answer = await new Promise<string>((resolve, reject) => {
    const socket = connectTls({ port, host: '127.0.0.1', servername: 'localhost', ca })
    socket.on('error', reject)
    socket.once('data', (bytes: Buffer) => {
      resolve(bytes.toString('latin1'))
      socket.destroy()
    })
    socket.write('GET /devstoreaccount1?comp=list HTTP/1.1\r\nHost: localhost\r\n\r\n')
  })
  assert.match(answer, /^HTTP\/1\.1 40[0-9] /)
}
