// Terraform keeps its state in a blob and locks it by a lease. It insists on Azure's host names and HTTPS, so it runs in a network
// and with a hosts file of its own, as docs/clients.md says.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { cleanUp, MAIN, run, tempFolder } from '../server-process.ts'
import { CLIENT_LIMIT_MS, missingReason } from './program.ts'

after(cleanUp)

const PAGE = readFileSync(fileURLToPath(new URL('../../docs/clients.md', import.meta.url)), 'utf8')
const ISOLATED = ['unshare', '--net', '--mount', '--pid', '--fork', '--kill-child'] as const

const skip =
  missingReason('terraform', ['terraform', 'version']) ??
  missingReason('unshare with a network of its own', [
    ...ISOLATED,
    'ip',
    'link',
    'set',
    'lo',
    'up',
  ]) ??
  false

/** The blocks of shell in the section. */
function commandsOf(section: string): readonly string[] {
  return [...section.matchAll(/^```sh .*\n([^]*?)^```$/gm)].map(([, text = '']) => text)
}

test('terraform keeps its state in a blob, and locks it by a lease', { skip, timeout: CLIENT_LIMIT_MS }, async () => {
  const section = /^## Terraform\n([^]*?)^## /m.exec(PAGE)?.[1] ?? ''
  const [start = '', init = ''] = commandsOf(section)
  const folder = tempFolder('terraform')
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'lazuli'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`, { mode: 0o755 })
  const [, backend = ''] = /^```hcl\n([^]*?)^```$/m.exec(section) ?? []
  writeFileSync(join(folder, 'main.tf'), `${backend}\noutput "hello" { value = "world" }\n`)
  writeFileSync(join(folder, 'hosts'), '127.0.0.1 localhost\n')
  writeFileSync(join(folder, 'empty.tfrc'), '')
  const script = [
    'set -eu',
    'ip link set lo up',
    'mount --bind hosts /etc/hosts',
    ': > log',
    start.replace(/ &$/m, ' >> log 2>&1 &'),
    'tail --lines=+1 --follow --pid=$! log | grep -q -m 1 "Lazuli is ready"',
    init,
    'export ARM_ACCESS_KEY="$KEY" SSL_CERT_FILE=data/https/ca.pem',
    'terraform apply -auto-approve -no-color',
    'terraform output -raw hello > output',
    'lazuli journal --location data > journal',
    'kill $!',
  ].join('\n')
  const env = {
    KEY: Buffer.alloc(64, 'k').toString('base64'), TF_CLI_CONFIG_FILE: join(folder, 'empty.tfrc'),
    PATH: `${bin}:${process.env.PATH}`, NO_PROXY: '*', no_proxy: '*',
  }
  const ended = await run({ program: [...ISOLATED, 'bash'], args: ['-c', script], cwd: folder, env })
  assert.equal(ended.code, 0, ended.stdout + ended.stderr)
  assert.equal(readFileSync(join(folder, 'output'), 'utf8'), 'world')
  assert.match(readFileSync(join(folder, 'journal'), 'utf8'), /Lease Blob +201/)
}) // prettier-ignore
