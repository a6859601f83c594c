// What keeps Lazuli from starting, said in one line. Main prints the message and leaves with the exit
// code; nothing that throws one of these has left anything half-started.

/** 2: the command line, an environment variable or the config file is wrong. 1: the world is. */
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

/** A system error's code, such as ENOENT. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

// The words people know, for what goes wrong with files and addresses.
const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EADDRINUSE: 'the port is taken',
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection was reset',
  EADDRNOTAVAIL: 'this machine does not have that address',
  EISDIR: 'it is a folder',
  EEXIST: 'a file of that name is in the way',
  EMFILE: 'too many open files',
  ENOENT: 'no such file or folder',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of the path is not a folder',
  ENOTFOUND: 'the name is not known',
  EAI_AGAIN: 'the name is not known',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
}

/** Why an operation of the system failed, in words. */
export function reasonOf(error: unknown): string {
  const code = errorCode(error)
  const known = code === undefined ? undefined : REASONS[code]
  if (known !== undefined) return known
  return error instanceof Error ? error.message : String(error)
}
