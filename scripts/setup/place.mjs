// The checkout, and npm's name on this machine.
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
export const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
