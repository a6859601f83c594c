// The admin token, if the server asks for one. It is kept as long as the tab is open.
import { signal } from '../library.ts'

const KEY = 'lazuli-token'

export const token = signal(sessionStorage.getItem(KEY) ?? undefined)
/** The server has refused a request without a token, or with a wrong one. */
export const isTokenNeeded = signal(false)

export function useToken(text: string): void {
  sessionStorage.setItem(KEY, text)
  token.value = text
  isTokenNeeded.value = false
}
