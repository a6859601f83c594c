// How wide the window is, where style sheets alone do not do.
import { signal } from './library.ts'

const narrow = matchMedia('(max-width: 760px)')

export const isNarrow = signal(narrow.matches)
narrow.addEventListener('change', () => (isNarrow.value = narrow.matches))

export const wantsLessMotion = matchMedia('(prefers-reduced-motion: reduce)').matches
