// The progress of a command on stderr. What shows it is loaded on demand.
import type { Progress } from './progress.ts'

export async function stderrProgress(): Promise<Progress> {
  const { progressOf } = await import('./progress.ts')
  const { stderr } = process
  return progressOf({
    isTerminal: stderr.isTTY,
    write: (text) => stderr.write(text),
    nowMs: () => performance.now(),
  })
}
