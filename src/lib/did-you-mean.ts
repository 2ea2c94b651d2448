export function nearestFirst(typed: string, names: readonly string[]): readonly string[] {
  return names.toSorted((a, b) => distance(typed, a) - distance(typed, b))
}

/** The name that was probably meant: a third of its letters may differ, or their order. */
export function nearest(typed: string, names: readonly string[]): string | undefined {
  const lower = typed.toLowerCase()
  const [closest = ''] = nearestFirst(lower, names)
  const isClose =
    distance(lower, closest.toLowerCase()) <= Math.max(1, closest.length / 3) ||
    lettersOf(lower) === lettersOf(closest)
  return isClose ? closest : undefined
}

/** Equal for words whose letters were swapped. */
function lettersOf(text: string): string {
  return [...text.toLowerCase()].sort().join('')
}

/** Longer texts are no typing mistakes, and take time to compare. */
const LONGEST = 80

/** Levenshtein distance: letters to insert, remove or replace. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (const letter of from.slice(0, LONGEST)) {
    let diagonal = Number.POSITIVE_INFINITY
    let left = Number.POSITIVE_INFINITY
    row = row.map((above, column) => {
      const replaced = diagonal + (letter === to[column - 1] ? 0 : 1)
      diagonal = above
      left = Math.min(replaced, above + 1, left + 1)
      return left
    })
  }
  return row[to.length] as number
}
