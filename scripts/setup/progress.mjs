// Shows that an installation goes on: one line that changes on a terminal, otherwise a line every ten seconds.

const EVERY_MS = 10_000

export function showProgress(what, countMax) {
  // stdout belongs to the command that is run.
  const { isTTY } = process.stderr
  const startedMs = performance.now()
  let count = 0
  const text = () => {
    const seconds = Math.round((performance.now() - startedMs) / 1000)
    const state = count < countMax ? `${count} of ${countMax} packages` : 'unpacking'
    return `Installing ${what}: ${state}, ${seconds} s`
  }
  const show = () => process.stderr.write(isTTY ? `\r\u001b[K${text()}` : `${text()}\n`)
  console.error(`Installing ${what} (${countMax} packages; only the first time) …`)
  const timer = setInterval(show, isTTY ? 500 : EVERY_MS)
  return {
    fetched: () => {
      count = Math.min(count + 1, countMax)
    },
    end: (isDone) => {
      clearInterval(timer)
      const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
      if (isTTY) process.stderr.write('\r\u001b[K')
      console.error(isDone ? `Installed in ${seconds} s.` : 'npm failed:')
    },
  }
}
