// Finds the name that somebody meant: one that differs in case, dashes or at most two letters.

/** undefined if none is near. */
export function nearestName(given: string, names: readonly string[]): string | undefined {
  const wanted = plain(given)
  const near = names
    .map((name) => ({ name, distance: editDistance(wanted, plain(name)) }))
    .filter(({ name, distance }) => distance <= Math.min(2, Math.floor(name.length / 3)))
    .toSorted((a, b) => a.distance - b.distance)
  return near[0]?.name
}

/** A longer text is no misspelt name, and would take long to compare. */
const LENGTH_MAX = 40

function plain(text: string): string {
  return text.replaceAll(/[-_]/g, '').toLowerCase().slice(0, LENGTH_MAX)
}

/** Letters added, left out, replaced, or swapped with the next one (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let [beforeLast, last]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, indexOf)]
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwap = j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swapped = isSwap ? at(beforeLast, j - 2) + 1 : Infinity
      row.push(Math.min(replaced, swapped, at(last, j) + 1, at(row, j - 1) + 1))
    }
    beforeLast = last
    last = row
  }
  return at(last, b.length)
}

function indexOf(_: unknown, index: number): number {
  return index
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Infinity
}
