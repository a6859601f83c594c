// Which opens of a file over SMB let others in ("Manage file locks in Azure Files"; [MS-FSA] 2.1.5.1.2).

/** Letters: read, write, delete. */
export type Open = { readonly access: string; readonly share: string }

export type Opens = Readonly<Record<string, Open>>

function isWithin(access: string, share: string): boolean {
  return [...access].every((letter) => share.includes(letter))
}

export function openConflicts(opens: Opens, { access, share }: Open): boolean {
  return Object.values(opens).some((open) => !isWithin(access, open.share) || !isWithin(open.access, share)) // prettier-ignore
}

/** The access that a REST operation takes; `any` open refuses a deletion. */
// prettier-ignore
const REST: Readonly<Record<string, string>> = { get: 'R', putRange: 'W', create: 'WD', rename: 'D', delete: 'any', replaced: 'any', acquire: 'lease' }

export function restConflicts(opens: Opens, operation: string): boolean {
  const access = REST[operation]
  const all = Object.values(opens)
  if (access === undefined || all.length === 0) return false
  if (access === 'any') return true
  const isWriter = (open: Open): boolean => /[WD]/.test(open.access)
  if (access === 'lease') return all.some((open) => isWriter(open) || !isWithin('RWD', open.share))
  return all.some((open) => !isWithin(access, open.share))
}
