// Light or dark: as the system says, or as chosen here.
import { effect, signal } from './library.ts'

export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const KEY = 'lazuli-theme'
const stored = localStorage.getItem(KEY)

export const theme = signal<Theme>(THEMES.find((each) => each === stored) ?? 'system')

const systemIsDark = matchMedia('(prefers-color-scheme: dark)')
const systemDark = signal(systemIsDark.matches)
systemIsDark.addEventListener('change', () => (systemDark.value = systemIsDark.matches))

export function isDark(): boolean {
  return theme.value === 'system' ? systemDark.value : theme.value === 'dark'
}

effect(() => {
  document.documentElement.dataset['theme'] = theme.value
  if (theme.value === 'system') localStorage.removeItem(KEY)
  else localStorage.setItem(KEY, theme.value)
})
