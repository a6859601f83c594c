// Inputs in a file, one a line: JSON strings of Latin-1, so that text stays readable and differences between versions small.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export type InputKind = 'corpus' | 'crashers'

function pathOf(kind: InputKind, name: string): string {
  return join(import.meta.dirname, kind, `${name}.txt`)
}

export function readInputs(kind: InputKind, name: string): readonly Buffer[] {
  const path = pathOf(kind, name)
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
  return lines.map((line) => Buffer.from(JSON.parse(line) as string, 'latin1'))
}

export function writeInputs(kind: InputKind, name: string, inputs: readonly Buffer[]): string {
  const path = pathOf(kind, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, inputs.map((input) => `${lineOf(input)}\n`).join(''))
  return path
}

/** Only visible ASCII, so that no tool changes a line. */
function lineOf(input: Buffer): string {
  return JSON.stringify(input.toString('latin1')).replaceAll(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
