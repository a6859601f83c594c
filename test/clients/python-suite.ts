// Python suites: one process runs all tests of a file and prints a line of JSON for each (suite.py).
import assert from 'node:assert/strict'
import { clientOf } from './program.ts'

/** Debian's own: another python3 that is first on the path does not find Debian's modules. */
export const PYTHON = '/usr/bin/python3'

export type PythonResult = { readonly name: string; readonly failure: string | null }

export async function pythonResults(
  script: string,
  ...args: readonly string[]
): Promise<readonly PythonResult[]> {
  const output = await clientOf([PYTHON, script], {}).ok(...args)
  const results = output.trimEnd().split('\n').map(resultOf)
  assert(results.length > 0)
  return results
}

function resultOf(line: string): PythonResult {
  const value: unknown = JSON.parse(line)
  assert(isResult(value), line)
  return value
}

function isResult(value: unknown): value is PythonResult {
  return typeof value === 'object' && value !== null && 'name' in value && 'failure' in value
}
