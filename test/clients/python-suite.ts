// Suites in Python: one process runs all tests of a file and says a line of JSON for each (suite.py).
import assert from 'node:assert/strict'
import { clientOf } from './program.ts'

/** Debian's own: a python3 that comes first on the path doesn't see Debian's modules. */
export const PYTHON = '/usr/bin/python3'

export type PythonResult = { readonly name: string; readonly failure: string | null }

export async function pythonResults(
  script: string,
  ...args: readonly string[]
): Promise<readonly PythonResult[]> {
  const said = await clientOf([PYTHON, script], {}).ok(...args)
  const results = said.trimEnd().split('\n').map(resultOf)
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
