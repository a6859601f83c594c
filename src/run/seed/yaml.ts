// YAML 1.2, loaded only if a seed has a YAML file.
import { parse } from 'yaml'

/** Throws an error whose message has the line. Aliases are bounded. */
export function parseYaml(text: string): unknown {
  return parse(text, { maxAliasCount: 100 })
}
