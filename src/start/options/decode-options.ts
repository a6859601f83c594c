// Combines flags, environment and lazuli.json into one `Options` value. Flags win over the environment, the environment
// over the file, the file over defaults. Every error names the place of the bad value.
import type { ConfigFile } from './config-file.ts'
import type { Setting } from './setting.ts'
import {
  checkOptions,
  defaultOptions,
  envName,
  isSettingName,
  SETTING_NAMES,
  SETTINGS,
  type Given,
  type Options,
  type SettingName,
  type SettingSource,
} from './options.ts'
import { nearestName } from './nearest.ts'
import { withPlaces } from './places.ts'
import { usageError } from '../start-error.ts'

export type Env = Readonly<Record<string, string | undefined>>

export type OptionSources = {
  readonly flags: ReadonlyMap<SettingName, string>
  readonly env: Env
  readonly file: ConfigFile | undefined
}

export type DecodedOptions = { readonly options: Options; readonly given: Given }

export function decodeOptions({ flags, env, file }: OptionSources): DecodedOptions {
  checkNoDatabase(env)
  const given = new Map<SettingName, SettingSource>()
  const values: Record<string, unknown> = {}
  const take = (name: SettingName, source: SettingSource, value: unknown): void => {
    given.set(name, source)
    values[name] = value
  }
  for (const [key, value] of file?.settings ?? []) {
    const place = `${file?.path ?? ''}: "${key}"`
    if (!isSettingName(key))
      throw usageError(`${place} is not a setting; ${hint(key, SETTING_NAMES)}`)
    take(key, 'file', decodeJson(SETTINGS[key], value, place))
  }
  for (const name of SETTING_NAMES) {
    const found = findEnv(env, name)
    if (found !== undefined) take(name, 'env', decodeText(SETTINGS[name], found.text, found.place))
  }
  for (const [name, text] of flags)
    take(name, 'flag', decodeText(SETTINGS[name], text, `--${name}`))
  const options = withPlaces({ ...defaultOptions(), ...(values as Partial<Options>) }, given)
  checkOptions(options, given)
  return { options, given }
}

/** The message may repeat the value: a password is never invalid. */
function decodeText(setting: Setting<unknown>, text: string, place: string): unknown {
  const value = setting.decode(text)
  if (value === undefined) throw notA(setting, text, place)
  return value
}

function decodeJson(setting: Setting<unknown>, value: unknown, place: string): unknown {
  const isSwitch = setting.placeholder === undefined
  if (isSwitch && typeof value === 'boolean') return value
  if (!isSwitch && typeof value === 'string') return decodeText(setting, value, place)
  if (!isSwitch && typeof value === 'number') return decodeText(setting, String(value), place)
  if (Array.isArray(value) && setting.placeholder?.endsWith(',…') === true) {
    return value.length === 0 ? [] : decodeText(setting, value.join(','), place)
  }
  throw notA(setting, JSON.stringify(value), place)
}

function notA(setting: Setting<unknown>, text: string, place: string): Error {
  const given = text === '' ? 'empty' : text
  return usageError(`${place} must be ${setting.expected}, not ${given}${meant(setting, text)}`)
}

function meant({ choices }: Setting<unknown>, text: string): string {
  const other = text
    .split(',')
    .find((part) => choices?.includes(part.trim().toLowerCase()) === false)
  const near = other === undefined ? undefined : nearestName(other.trim(), choices ?? [])
  return near === undefined ? '' : `; did you mean ${near}?`
}

function hint(name: string, names: readonly string[]): string {
  const near = nearestName(name, names)
  return near === undefined ? 'see --help for all settings' : `did you mean ${near}?`
}

/** A warning for each variable that looks like a setting and is none. */
export function unknownVariables(env: Env): readonly string[] {
  const names = [...SETTING_NAMES.map(envName), ...OTHER_VARIABLES]
  return Object.entries(env)
    .filter(
      ([name, text]) => /^LAZULI_/i.test(name) && !names.includes(name) && !isLink(name, text),
    )
    .map(([name]) => `the environment variable ${name} is not a setting; ${hint(name, names)}`)
}

const OTHER_VARIABLES = ['LAZULI_ACCOUNTS', 'LAZULI_CONFIG']

/** Whatever Kubernetes sets for a Service whose name begins with lazuli. */
function isLink(name: string, text = ''): boolean {
  return /_SERVICE_(HOST|PORT)(_|$)|_PORT_\d+_(TCP|UDP|SCTP)/.test(name) || SERVICE_LINK.test(text)
}

function findEnv(env: Env, name: SettingName): { text: string; place: string } | undefined {
  const setting: Setting<unknown> = SETTINGS[name]
  const places = [envName(name), ...(setting.envAlias === undefined ? [] : [setting.envAlias])]
  for (const place of places) {
    const text = env[place]?.trim()
    // Compose files pass an empty text for "not set".
    if (text !== undefined && text !== '' && !isServiceLink(name, text)) return { text, place }
  }
  return undefined
}

/**
 * For a Service named lazuli-blob, Kubernetes sets LAZULI_BLOB_PORT=tcp://10.0.0.11:10000 in every pod
 * of the namespace (kubernetes.io/docs/concepts/services-networking/service, environment variables).
 */
function isServiceLink(name: SettingName, text: string): boolean {
  return name.endsWith('Port') && SERVICE_LINK.test(text)
}

const SERVICE_LINK = /^(tcp|udp|sctp):\/\//

/** Azurite would keep blob records in that database; starting without it would hide them. */
function checkNoDatabase(env: Env): void {
  if ((env.AZURITE_DB ?? '') === '') return
  throw usageError(
    'AZURITE_DB is set, but Lazuli uses neither MySQL nor SQL Server; unset it, or use --store postgres://…',
  )
}
