// Runs the command with the Node that a checkout installs (scripts/node/package.json), for an installed Node that cannot
// run TypeScript. Never used from the published package.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'

/** They end the server in its own way, so they are passed on. The terminal sends SIGINT to both. */
const SIGNALS = ['SIGTERM', 'SIGHUP', 'SIGUSR2']

export function runWithBundledNode() {
  const name = process.platform === 'win32' ? 'node.exe' : 'node'
  const platform = process.platform === 'win32' ? 'win' : process.platform
  const node = fileURLToPath(
    new URL(`../node_modules/node-${platform}-${process.arch}/bin/${name}`, import.meta.url),
  )
  if (!existsSync(node)) {
    process.stderr.write(
      `lazuli: Node ${process.version} cannot run a checkout; run "npm start", which installs Node 24 beside it, or install Node 24\n`,
    )
    process.exitCode = 1
    return
  }
  run(node)
}

/** Like exec: same arguments, same streams, same end. */
function run(node) {
  // A parent may send the message 'shutdown'.
  const hasParent = process.channel !== undefined
  const stdio = hasParent ? ['inherit', 'inherit', 'inherit', 'ipc'] : 'inherit'
  const child = spawn(node, process.argv.slice(1), { stdio })
  if (hasParent) process.on('message', (message) => child.send(message))
  for (const signal of SIGNALS) process.on(signal, () => child.kill(signal))
  process.on('SIGINT', () => {
    // A process group of a terminal gets it as a whole; kill -INT only this process.
    if (!process.stdin.isTTY) child.kill('SIGINT')
  })
  child.once('error', (error) => {
    process.stderr.write(`lazuli: ${node} does not start: ${error.message}\n`)
    process.exitCode = 1
  })
  child.once('exit', (code, signal) => {
    process.exitCode = signal === null ? (code ?? 1) : 128 + constants.signals[signal]
  })
}
