// The kinds of settings, each with its default and its decoder. Flags, environment variables and lazuli.json share
// them. The table of all settings is in options.ts.
import { CLIENT_BY, CLIENT_SOURCES, type ClientSource } from '../../control/client.ts'
import { StorageError } from '../../storage/shared/error.ts'
import { isEncryptionScopeName } from '../../storage/shared/encryption-scope.ts'
import { parseAllowCopyFrom, type CopyPattern } from '../../http/client/copy-source.ts'
import { isServiceName, SERVICE_NAMES, type ServiceName } from './services.ts'
import { errorReason, usageError } from '../start-error.ts'

export type Setting<T> = {
  readonly group: string
  readonly help: string
  readonly default: T
  /** What the help shows after the flag; undefined for a switch, which takes no value. */
  readonly placeholder: string | undefined
  /** Completes "… must be" in an error message. */
  readonly expected: string
  /** The values, or those of a list, if only these are valid. */
  readonly choices?: readonly string[]
  /** undefined if the text is invalid. */
  readonly decode: (text: string) => T | undefined
  /** One letter, e.g. l for -l. */
  readonly short?: string
  /** Another environment variable with the same meaning; the setting's own one wins. */
  readonly envAlias?: string
}

export type About = {
  readonly group: string
  readonly help: string
  readonly short?: string
  readonly envAlias?: string
}

export function textSetting(about: About, placeholder: string): Setting<string | undefined> {
  const expected = 'a single line of text'
  return { ...about, default: undefined, placeholder, expected, decode: decodeLine }
}

export function hostSetting(about: About): Setting<string> {
  const expected = 'an address or a host name, such as 127.0.0.1 or 0.0.0.0'
  return { ...about, default: '127.0.0.1', placeholder: 'HOST', expected, decode: decodeHost }
}

/** For a setting without a default. */
export function optionalHostSetting(about: About): Setting<string | undefined> {
  return { ...hostSetting(about), default: undefined }
}

export function servicesSetting(about: About): Setting<readonly ServiceName[] | undefined> {
  const expected = `a comma-separated list of ${SERVICE_NAMES.join(', ')}`
  const decode = (text: string): readonly ServiceName[] | undefined => {
    const names = text.split(',').map((name) => name.trim().toLowerCase())
    return names.every(isServiceName) ? names : undefined
  }
  return {
    ...about,
    default: undefined,
    placeholder: 'NAME,…',
    expected,
    choices: SERVICE_NAMES,
    decode,
  }
}

/** From the highest default port to the last one. */
export function offsetSetting(about: About): Setting<number> {
  const expected = 'a whole number from 0 to 55000'
  const decode = (text: string): number | undefined => {
    const offset = /^\d{1,5}$/.test(text) ? Number(text) : Infinity
    return offset <= 55_000 ? offset : undefined
  }
  return { ...about, default: 0, placeholder: 'N', expected, decode }
}

export function portSetting(defaultPort: number, about: About): Setting<number> {
  const expected = 'a port from 0 to 65535 (0 picks a free port)'
  const decode = (text: string): number | undefined => {
    if (!/^\d{1,5}$/.test(text)) return undefined
    const port = Number(text)
    return port <= 65_535 ? port : undefined
  }
  return { ...about, default: defaultPort, placeholder: 'PORT', expected, decode }
}

/** At most a day: a larger number is probably in the wrong unit. */
export function secondsSetting(defaultSeconds: number, about: About): Setting<number> {
  const expected = 'a number of seconds from 0 to 86400'
  const decode = (text: string): number | undefined => decodeNumber(text, 86_400)
  return { ...about, default: defaultSeconds, placeholder: 'SECONDS', expected, decode }
}

/** At most a pebibyte. */
export function megabytesSetting(about: About): Setting<number | undefined>
export function megabytesSetting(about: About, defaultMegabytes: number): Setting<number>
export function megabytesSetting(
  about: About,
  defaultMegabytes?: number,
): Setting<number | undefined> {
  const expected = 'a number of megabytes'
  const decode = (text: string): number | undefined => decodeNumber(text, 1_073_741_824)
  return { ...about, default: defaultMegabytes, placeholder: 'MB', expected, decode }
}

export function switchSetting(about: About): Setting<boolean> {
  const expected = 'true or false'
  return { ...about, default: false, placeholder: undefined, expected, decode: decodeSwitch }
}

/** undefined unless it is given. */
export function optionalSwitchSetting(about: About): Setting<boolean | undefined> {
  const expected = 'true or false'
  return { ...about, default: undefined, placeholder: undefined, expected, decode: decodeSwitch }
}

export function countSetting(
  defaultCount: number,
  countMax: number,
  about: About,
): Setting<number> {
  const expected = `a whole number from 1 to ${countMax}`
  const decode = (text: string): number | undefined => {
    const count = /^\d{1,15}$/.test(text) ? Number(text) : 0
    return count >= 1 && count <= countMax ? count : undefined
  }
  return { ...about, default: defaultCount, placeholder: 'COUNT', expected, decode }
}

export function clientSourcesSetting(about: About): Setting<readonly ClientSource[]> {
  const expected = `a comma-separated list of ${CLIENT_SOURCES.join(', ')}`
  const decode = (text: string): readonly ClientSource[] | undefined => {
    const given = text.split(',').map((name) => name.trim())
    const sources = given.flatMap((name) => CLIENT_SOURCES.find((source) => source === name) ?? [])
    return sources.length === given.length ? sources : undefined
  }
  return {
    ...about,
    default: CLIENT_BY,
    placeholder: 'SOURCE,…',
    expected,
    choices: CLIENT_SOURCES,
    decode,
  }
}

/** Long enough that nobody can guess it. It is never repeated in a message, since it is a secret. */
export const TOKEN_EXPECTED = 'at least 16 letters, digits and other visible characters of ASCII'

/** Others do not fit into a header, or are easily guessed. */
export function isToken(text: string): boolean {
  return /^[!-~]{16,512}$/.test(text)
}

export function tokenSetting(about: About): Setting<string | undefined> {
  const decode = (text: string): string => {
    if (!isToken(text)) throw usageError(`a token must be ${TOKEN_EXPECTED}`)
    return text
  }
  return { ...about, default: undefined, placeholder: 'TOKEN', expected: TOKEN_EXPECTED, decode }
}

export function choiceSetting<const T extends string, const D extends string | undefined>(
  choices: readonly T[],
  defaultChoice: D,
  about: About,
): Setting<T | D> {
  const decode = (text: string): T | undefined =>
    choices.find((choice) => choice === text.toLowerCase())
  const placeholder = choices.join('|')
  const expected = placeholder.replaceAll('|', ', ').replace(/, (\w+)$/, ' or $1')
  return { ...about, default: defaultChoice, placeholder, expected, choices, decode }
}

export function hostListSetting(about: About): Setting<readonly string[]> {
  const expected = 'a comma-separated list of host names'
  const decode = (text: string): readonly string[] | undefined => {
    const hosts = text.split(',').map((host) => decodeHost(host.trim().toLowerCase()))
    return hosts.every((host) => host !== undefined) ? hosts : undefined
  }
  return { ...about, default: [], placeholder: 'HOST,…', expected, decode }
}

export function nameListSetting(about: About): Setting<readonly string[]> {
  const expected = 'a comma-separated list of host names without a port, or *'
  const decode = (text: string): readonly string[] | undefined => {
    const names = text.split(',').map((name) => name.trim().toLowerCase())
    return names.every((name) => name === '*' || HOST_NAME.test(name)) ? names : undefined
  }
  return { ...about, default: [], placeholder: 'NAME,…', expected, decode }
}

const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_-]+(\.[a-z0-9_-]+)*$/

export function encryptionScopesSetting(about: About): Setting<readonly string[]> {
  const expected = 'a comma-separated list of names with 3 to 63 letters, digits and dashes'
  const decode = (text: string): readonly string[] | undefined => {
    const names = text.split(',').map((name) => name.trim())
    return names.every(isEncryptionScopeName) ? names : undefined
  }
  return { ...about, default: [], placeholder: 'NAME,…', expected, decode }
}

/** `check` throws a StorageError. */
export function resourceNamesSetting(
  check: (name: string) => void,
  about: About,
): Setting<readonly string[]> {
  const expected = 'a comma-separated list of valid names'
  const decode = (text: string): readonly string[] | undefined => {
    const names = text.split(',').map((name) => name.trim())
    try {
      names.forEach(check)
      return names
    } catch (error) {
      if (error instanceof StorageError) return undefined
      throw error
    }
  }
  return { ...about, default: [], placeholder: 'NAME,…', expected, decode }
}

export function originsSetting(about: About): Setting<readonly string[]> {
  const expected = 'a comma-separated list of origins, such as https://a.example, or *'
  const decode = (text: string): readonly string[] | undefined => {
    const origins = text.split(',').map((origin) => origin.trim())
    return origins.every((origin) => ORIGIN.test(origin)) ? origins : undefined
  }
  return { ...about, default: [], placeholder: 'ORIGIN,…', expected, decode }
}

/** As CORS rules have them: `*` alone, or with a wildcard for subdomains. */
const ORIGIN = /^(\*|https?:\/\/(\*\.)?[A-Za-z0-9.-]+(:\d{1,5})?)$/

/** The parser's errors already hide secrets in URLs, so they are passed on unchanged. */
export function copyPatternListSetting(about: About): Setting<readonly CopyPattern[]> {
  const expected = 'a comma-separated list of URLs, such as https://*.example.com'
  const decode = (text: string): readonly CopyPattern[] => {
    try {
      return parseAllowCopyFrom([text])
    } catch (error) {
      throw usageError(errorReason(error))
    }
  }
  return { ...about, default: [], placeholder: 'URL,…', expected, decode }
}

function decodeLine(text: string): string | undefined {
  // oxlint-disable-next-line no-control-regex -- control characters are what is refused
  return text.length > 0 && !/[\u0000-\u001f\u007f]/.test(text) ? text : undefined
}

function decodeHost(text: string): string | undefined {
  return /^[A-Za-z0-9_.:%*-]{1,253}$/.test(text) ? text : undefined
}

function decodeNumber(text: string, max: number): number | undefined {
  if (!/^\d+(\.\d+)?$/.test(text)) return undefined
  const value = Number(text)
  return value <= max ? value : undefined
}

function decodeSwitch(text: string): boolean | undefined {
  if (/^(true|1|yes|on)$/i.test(text)) return true
  if (/^(false|0|no|off)$/i.test(text)) return false
  return undefined
}
