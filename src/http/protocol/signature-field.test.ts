import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hideSignature, withoutSignature } from './signature-field.ts'

const URLS: readonly [url: string, shown: string, logged: string][] = [
  ['/c/b', '/c/b', '/c/b'],
  ['/c/b?', '/c/b?', '/c/b?'],
  ['/c/b?sv=1&sig=a%2Bb&se=2', '/c/b?sv=1&se=2', '/c/b?sv=1&sig=XXXXX&se=2'],
  ['/c/b?sig=a', '/c/b', '/c/b?sig=XXXXX'],
  ['/c/b?SIG=a&x', '/c/b?x', '/c/b?SIG=XXXXX&x'],
  ['/c/b?%73ig=a', '/c/b', '/c/b?%73ig=XXXXX'],
  ['/c/b?s%49%67=a=b', '/c/b', '/c/b?s%49%67=XXXXX'],
  ['/c/b?sig=a&x=1&sig=b', '/c/b?x=1', '/c/b?sig=XXXXX&x=1&sig=XXXXX'],
  ['/c/b?x=1;sig=a', '/c/b', '/c/b?x=XXXXX'],
  ['/c/b?%zz%73ig=a&sig', '/c/b?%zz%73ig=a&sig', '/c/b?%zz%73ig=a&sig'],
  ['/c/b?design=a&sigma=b', '/c/b?design=a&sigma=b', '/c/b?design=a&sigma=b'],
  ['https://h/c/sig=b?x=%E4', 'https://h/c/sig=b?x=%E4', 'https://h/c/sig=b?x=%E4'],
]

for (const [url, shown, logged] of URLS) {
  test(`${url} is shown as ${shown} and logged as ${logged}`, () => {
    assert.equal(withoutSignature(url), shown)
    assert.equal(hideSignature(url), logged)
  })
}
