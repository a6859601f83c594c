// A third-party client program as a user runs it: whether it is installed, and its output.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { run, type Ended } from '../server-process.ts'

export type Program = readonly [string, ...string[]]

/** The time limit for the tests of a client. */
export const CLIENT_LIMIT_MS = 300_000

/** The reason why its tests cannot run, or undefined. The probe succeeds if the client is installed. */
export function missingReason(name: string, probe: Program): string | undefined {
  const [file, ...args] = probe
  const { error, status } = spawnSync(file, args, { stdio: 'ignore', timeout: CLIENT_LIMIT_MS })
  return error === undefined && status === 0 ? undefined : `${name} is not installed`
}

export type Client = {
  /** Runs it and returns its standard output; it must succeed. */
  ok(...args: string[]): Promise<string>
  /** Runs it and returns its standard error; it must fail. */
  fails(...args: string[]): Promise<string>
}

/** No proxy, since the server is on this machine, and times in UTC as in the service. */
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
