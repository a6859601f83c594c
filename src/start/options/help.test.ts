import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COMMAND_HELP } from './command-help.ts'
import { COMMANDS } from './commands.ts'
import { COMMAND_FLAGS } from './flags.ts'
import { helpText } from './help.ts'
import { SETTING_NAMES } from './options.ts'

const FLAGS = Object.entries(COMMAND_FLAGS)

function assertNarrow(text: string): void {
  for (const line of text.split('\n')) assert(line.length <= 80, line)
}

test('lazuli --help begins with examples and has every command, setting and general flag', () => {
  const text = helpText('lazuli', undefined)
  assertNarrow(text)
  assert.match(text, /^[^\n]+\n\nExamples:\n {2}lazuli /)
  for (const name of COMMANDS) assert(text.includes(COMMAND_HELP[name].summary), name)
  for (const name of [...SETTING_NAMES, 'config', 'help', 'version'])
    assert.match(text, new RegExp(`--${name}\\b`))
})

test('azurite --help has the settings and no commands', () => {
  const text = helpText('azurite-blob', 'start')
  assertNarrow(text)
  assert.match(text, /^Usage: azurite-blob \[flags\]\n/)
  for (const name of SETTING_NAMES) assert.match(text, new RegExp(`--${name}\\b`))
})

for (const name of COMMANDS) {
  test(`lazuli ${name} --help has its usage, examples and flags`, () => {
    const text = helpText('lazuli', name)
    assertNarrow(text)
    assert.match(text, /\nUsage:\n {2}lazuli /)
    assert.match(text, /\nExamples:\n {2}lazuli/)
    for (const [flag, about] of FLAGS) {
      const isOwn = !('of' in about) || about.of.some((each) => each === name)
      // A setting may have the same name.
      if (isOwn) assert.match(text, new RegExp(`--${flag}\\b`))
    }
    for (const setting of COMMAND_HELP[name].settings ?? [])
      assert.match(text, new RegExp(`--${setting}\\b`))
  })
}

test('the help of a command for a running server has all of its actions', () => {
  const text = helpText('lazuli', 'clock')
  for (const form of ['clock', 'clock hold', 'clock advance PT60S'])
    assert(text.includes(`\n  lazuli ${form}\n`), form)
})
