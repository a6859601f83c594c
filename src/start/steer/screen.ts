// What lines are made for: a terminal, which has a width and colours, or a pipe, which has neither.

export type Screen = { readonly width: number; readonly hasColors: boolean }

export const PIPE: Screen = { width: 120, hasColors: false }
const WIDTH_MIN = 60

type Stream = { readonly isTTY?: boolean; readonly columns?: number }

/** NO_COLOR is that of no-color.org. */
export function screenOf(
  { isTTY = false, columns = PIPE.width }: Stream,
  env: Readonly<Record<string, string | undefined>>,
): Screen {
  if (!isTTY) return PIPE
  const hasColors = !env.NO_COLOR && env.TERM !== 'dumb'
  return { width: Math.max(WIDTH_MIN, columns), hasColors }
}

const COLORS = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const

export type Color = keyof typeof COLORS

export function colored(text: string, color: Color, { hasColors }: Screen): string {
  return hasColors && text !== '' ? `\u001b[${COLORS[color]}m${text}\u001b[0m` : text
}
