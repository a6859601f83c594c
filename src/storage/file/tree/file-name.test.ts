// Names of directories and files, and paths.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { StorageError } from '../../shared/error.ts'
import { checkFileName, foldName, parseFilePath } from './file-name.ts'

function outcome(run: () => unknown): unknown {
  try {
    return run()
  } catch (error) {
    assert(error instanceof StorageError)
    return error.code
  }
}

describe('a path', () => {
  const trimming = { allowTrailingDot: false }
  const keeping = { allowTrailingDot: true }
  for (const [text, rule, expected] of [
    ['', trimming, []],
    ['/', trimming, []],
    ['a', trimming, ['a']],
    ['a/b c/d.txt', trimming, ['a', 'b c', 'd.txt']],
    ['a/b/', trimming, ['a', 'b']],
    ['a\\b', trimming, ['a', 'b']],
    ['a./b..', trimming, ['a', 'b']],
    ['a./b..', keeping, ['a.', 'b..']],
    ['.a', trimming, ['.a']],
    ['a.b', trimming, ['a.b']],
    ['Größe/文書', trimming, ['Größe', '文書']],
    ['a//b', trimming, 'InvalidFileOrDirectoryPathName'],
    ['/a', trimming, 'InvalidFileOrDirectoryPathName'],
    ['.', trimming, 'InvalidFileOrDirectoryPathName'],
    ['a/../b', trimming, 'InvalidFileOrDirectoryPathName'],
    ['a/..', keeping, 'InvalidFileOrDirectoryPathName'],
    ['a/...', trimming, 'InvalidFileOrDirectoryPathName'],
    ['a/...', keeping, ['a', '...']],
    ['x'.repeat(255), trimming, ['x'.repeat(255)]],
    ['x'.repeat(256), trimming, 'InvalidFileOrDirectoryPathName'],
    [`${'x'.repeat(255)}.`, trimming, ['x'.repeat(255)]],
    [`${'x'.repeat(255)}.`, keeping, 'InvalidFileOrDirectoryPathName'],
  ] as const) {
    const label = text.length > 20 ? `${text.slice(0, 5)}… of ${text.length}` : JSON.stringify(text)
    const dots = rule.allowTrailingDot ? 'with trailing dots' : 'without trailing dots'
    test(`${label} ${dots} → ${String(expected).slice(0, 40)}`, () => {
      assert.deepEqual(
        outcome(() => parseFilePath(text, rule)),
        expected,
      )
    })
  }

  test('has at most 250 names', () => {
    const path = (count: number) => Array.from({ length: count }, () => 'a').join('/')
    assert.equal(parseFilePath(path(250), trimming).length, 250)
    assert.equal(
      outcome(() => parseFilePath(path(251), trimming)),
      'InvalidFileOrDirectoryPathName',
    )
  })

  test('has at most 2,048 characters', () => {
    const path = (length: number) => `${'x'.repeat(200)}/`.repeat(20).slice(0, length - 1) + 'y'
    assert.equal(parseFilePath(path(2_048), trimming).join('/').length, 2_048)
    assert.equal(
      outcome(() => parseFilePath(path(2_049), trimming)),
      'InvalidFileOrDirectoryPathName',
    )
  })
})

describe('a name', () => {
  for (const character of [
    '"',
    '\\',
    '/',
    ':',
    '|',
    '<',
    '>',
    '*',
    '?',
    '\0',
    '\u001f',
    '\u007f',
  ]) {
    test(`may not contain ${JSON.stringify(character)}`, () => {
      assert.equal(
        outcome(() => checkFileName(`a${character}b`)),
        'InvalidResourceName',
      )
    })
  }
  for (const device of [
    'CON',
    'prn',
    'Aux',
    'NUL',
    'CLOCK$',
    'COM1',
    'lpt9',
    'con.txt',
    'COM1.a.b',
  ]) {
    test(`may not be the device ${device}`, () => {
      assert.equal(
        outcome(() => checkFileName(device)),
        'InvalidResourceName',
      )
    })
  }
  for (const name of [
    'COM0',
    'COM10',
    'CONSOLE',
    'a.con',
    "it's",
    '%41',
    '#',
    '[]{}=+&$!@^~`',
    ' a',
  ]) {
    test(`may be ${name}`, () =>
      assert.equal(
        outcome(() => checkFileName(name)),
        undefined,
      ))
  }
})

describe('names are case-insensitive', () => {
  for (const [one, other] of [
    ['readme.TXT', 'README.txt'],
    ['größe', 'GRÖßE'],
    ['дом', 'ДОМ'],
    ['ǆ', 'Ǆ'],
    ['\u{10428}', '\u{10400}'],
  ] as const) {
    test(`${one} equals ${other}`, () => assert.equal(foldName(one), foldName(other)))
  }
  // Each code unit folds to one: names whose upper-case form is longer are different names.
  for (const [one, other] of [
    ['straße', 'strasse'],
    ['ﬁle', 'file'],
    ['e\u0301', 'é'],
  ] as const) {
    test(`${one} differs from ${other}`, () => assert.notEqual(foldName(one), foldName(other)))
  }

  test('folding keeps the length of a name', () => {
    for (const name of ['a', 'ß', 'ŉ', 'ﬃ', '\u{1f600}', 'ΐ']) {
      assert.equal(foldName(name).length, name.length)
    }
  })
})
