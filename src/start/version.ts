// The version of this package.
import { readFileSync } from 'node:fs'

export const VERSION = versionOf(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
)

function versionOf(packageJson: string): string {
  return (JSON.parse(packageJson) as { readonly version: string }).version
}
