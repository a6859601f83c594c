// The options of startServer() as a program gives them: names and types are checked, since programs in JavaScript, and
// tests that do not check types, would otherwise get a default without noticing. Errors name the option, not a flag.
import { StartError, usageError } from '../start-error.ts'
import { nearestName } from './nearest.ts'
import { SETTINGS } from './options.ts'
import { isToken, TOKEN_EXPECTED } from './setting.ts'

/** What a value must be. */
export type OptionKind = {
  /** Completes "… must be". */
  readonly expected: string
  accepts(value: unknown): boolean
  /** If it may be an object: what that may have. */
  readonly parts?: OptionKinds
}

export type OptionKinds = Readonly<Record<string, OptionKind>>

export const textOption: OptionKind = {
  expected: 'a text that is not empty',
  accepts: (value) => typeof value === 'string' && value !== '',
}

export const tokenOption: OptionKind = {
  expected: TOKEN_EXPECTED,
  accepts: (value) => typeof value === 'string' && isToken(value),
}

export const portOption: OptionKind = {
  expected: SETTINGS.blobPort.expected,
  accepts: (value) => isInteger(value) && value <= 65_535,
}

export const secondsOption: OptionKind = {
  expected: SETTINGS.nameReuseSeconds.expected,
  accepts: (value) => typeof value === 'number' && value >= 0 && value <= 86_400,
}

export const bytesOption: OptionKind = { expected: 'a number of bytes', accepts: isInteger }

export const countOption: OptionKind = {
  expected: 'a whole number greater than 0',
  accepts: (value) => isInteger(value) && value > 0,
}

export const switchOption: OptionKind = {
  expected: 'true or false',
  accepts: (value) => typeof value === 'boolean',
}

export const clockOption: OptionKind = {
  expected: "a function that returns milliseconds, or 'held'",
  accepts: (value) => typeof value === 'function' || value === 'held',
}

/** Its parts are checked when the store is filled. */
export const seedOption: OptionKind = {
  expected: 'the path of a folder, or an object',
  accepts: (value) => textOption.accepts(value) || isObject(value),
}

/** Keys, and what else the accounts must be, are checked when they are decoded. */
export const accountsOption: OptionKind = {
  expected: 'an object of names and keys, such as { me: "key in base64" }',
  accepts: isObject,
}

export const smbUsersOption: OptionKind = {
  expected: 'a list of { user, account, password }',
  accepts: (value) =>
    Array.isArray(value) &&
    value.every(
      (each: unknown) =>
        isObject(each) &&
        ['user', 'account', 'password'].every((name) => typeof each[name] === 'string'),
    ),
}

/** An object whose parts are options themselves, or false. */
export function partsOption(parts: OptionKinds): OptionKind {
  const accepts = (value: unknown): boolean => value === false || isObject(value)
  return { expected: 'false or an object', accepts, parts }
}

/** Some of these texts, each of which may be there. */
export function choicesOption(choices: readonly string[]): OptionKind {
  return {
    expected: `a list of ${choices.join(', ')}`,
    accepts: (value) =>
      Array.isArray(value) &&
      value.length > 0 &&
      value.every((each: unknown) => typeof each === 'string' && choices.includes(each)),
  }
}

/** A list of what the flag takes separated by commas. */
export function listOption(
  name: 'allowedHosts' | 'allowCopyFrom' | 'encryptionScopes',
): OptionKind {
  const { decode, expected } = SETTINGS[name]
  return {
    expected: expected.replace('comma-separated list', 'list'),
    accepts: (value) =>
      Array.isArray(value) &&
      value.every((each: unknown) => typeof each === 'string' && decode(each)?.length === 1),
  }
}

/** Left out and undefined are the same. `within`: the option that these are parts of, with a dot. */
export function checkLibraryOptions(options: unknown, kinds: OptionKinds, within = ''): void {
  if (!isObject(options)) throw usageError('the options must be an object')
  for (const [name, value] of Object.entries(options)) {
    const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined
    if (kind === undefined) throw usageError(unknownOption(name, kinds, within))
    if (value === undefined) continue
    if (!kind.accepts(value)) throw usageError(`'${within}${name}' must be ${kind.expected}`)
    if (kind.parts !== undefined && isObject(value))
      checkLibraryOptions(value, kind.parts, `${within}${name}.`)
  }
}

function unknownOption(name: string, kinds: OptionKinds, within: string): string {
  const near = nearestName(name, Object.keys(kinds))
  const hint = near === undefined ? '' : `; did you mean '${within}${near}'?`
  return `unknown option '${within}${name.slice(0, 60)}'${hint}`
}

/** Words an error for a program: what mentions a flag mentions the option instead. */
export function inOptionWords(error: unknown, kinds: OptionKinds): unknown {
  if (!(error instanceof Error)) return error
  const { message } = error
  const worded = message.replaceAll(/--([a-z]\w*)/gi, (flag, name: string) => {
    if (Object.hasOwn(kinds, name)) return `'${name}'`
    return HOST_FLAG.test(name) ? "'host'" : flag
  })
  if (worded === message && !(error instanceof StartError)) return error
  error.message = `${NAME}${worded}`
  error.stack = error.stack?.replace(message, () => error.message) ?? error.message
  return error
}

const NAME = 'startServer: '

/** A program gives one host for all of them. */
const HOST_FLAG = /^(blob|queue|table|file|dfs|smb|web|node)Host$/

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}
