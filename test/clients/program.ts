// A client of another make as its user runs it: whether it is installed, and what it says about a server.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { run, type Ended } from '../server-process.ts'

export type Program = readonly [string, ...string[]]

/** No client may wait for us longer than this. */
export const CLIENT_LIMIT_MS = 120_000

/** Why tests can't run here; undefined if they can. The probe succeeds where the client is installed. */
export function missingReason(name: string, probe: Program): string | undefined {
  const [file, ...args] = probe
  const { error, status } = spawnSync(file, args, { stdio: 'ignore', timeout: CLIENT_LIMIT_MS })
  return error === undefined && status === 0 ? undefined : `${name} is not installed`
}

export type Client = {
  /** What it writes to its standard output; it must succeed. */
  ok(...args: string[]): Promise<string>
  /** What it writes to its standard error; it must fail. */
  fails(...args: string[]): Promise<string>
}

/** The server is on this machine: no proxy between. Times are written as the service writes them. */
const HERE = { NO_PROXY: '*', no_proxy: '*', TZ: 'UTC' }

export function clientOf(program: Program, env: Readonly<Record<string, string>>): Client {
  const call = (args: readonly string[]): Promise<Ended> => {
    return run({ program, args, env: { ...HERE, ...env } })
  }
  return {
    ok: async (...args) => {
      const { code, stdout, stderr } = await call(args)
      assert.equal(code, 0, `${args.join(' ')}: ${stderr}`)
      return stdout
    },
    fails: async (...args) => {
      const { code, stderr } = await call(args)
      assert.notEqual(code, 0, `${args.join(' ')} succeeded`)
      return stderr
    },
  }
}
