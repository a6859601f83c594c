// Short messages in a corner: what has been done, and what could not be done. Screen readers read them.
import { signal } from '../library.ts'

type Toast = { readonly id: number; readonly text: string; readonly kind: 'done' | 'error' }

export const toasts = signal<readonly Toast[]>([])
const SHOWN_MS = { done: 3_000, error: 10_000 } as const
const COUNT_MAX = 4

let nextId = 1

export function toast(text: string, kind: Toast['kind'] = 'done'): void {
  const id = nextId++
  toasts.value = [...toasts.value, { id, text, kind }].slice(-COUNT_MAX)
  setTimeout(() => dismiss(id), SHOWN_MS[kind])
}

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((each) => each.id !== id)
}
