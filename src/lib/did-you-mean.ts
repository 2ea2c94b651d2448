/** Sorts names by closeness to a mistyped one, closest first. */
export function nearestFirst(typed: string, names: readonly string[]): readonly string[] {
  return names.toSorted((a, b) => distance(typed, a) - distance(typed, b))
}

/** Levenshtein distance: letters to insert, remove or replace. */
export function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (const letter of from) {
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
