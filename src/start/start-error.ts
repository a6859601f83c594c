// Errors that keep Lazuli from starting, with one-line messages. The program prints the message and ends with the exit
// code; whatever throws one of these leaves nothing half-started.

import { isLmdbDamage } from '../kv/engine/lmdb-file.ts'

/** 2: the command line, an environment variable or the config file is wrong. 1: anything else. */
export type ExitCode = 1 | 2

export class StartError extends Error {
  readonly exitCode: ExitCode

  constructor(message: string, exitCode: ExitCode = 1, cause?: unknown) {
    super(message.replaceAll(/\s*\n\s*/g, ' '), { cause })
    this.name = 'StartError'
    this.exitCode = exitCode
  }
}

export function usageError(message: string): StartError {
  return new StartError(message, 2)
}

/** The database with the records cannot read its own file. */
export function isRecordsDamage(error: unknown): error is Error {
  return isLmdbDamage(error)
}

/** A system error's code, such as ENOENT. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

// Plain words for common system errors.
const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EADDRINUSE: 'the port is already in use',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was reset',
  EADDRNOTAVAIL: 'this machine does not have that address',
  EISDIR: 'it is a folder',
  EEXIST: 'a file with that name already exists',
  EMFILE: 'too many open files',
  ENOENT: 'no such file or folder',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of the path is not a folder',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the host name is unknown',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
}

/** Why an operation failed, in words. */
export function errorReason(error: unknown): string {
  const code = errorCode(error)
  const known = code === undefined ? undefined : REASONS[code]
  if (known !== undefined) return known
  return error instanceof Error ? error.message : String(error)
}
