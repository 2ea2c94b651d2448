/** Sorts names by how close they are to a mistyped one, closest first. */
export function nearestFirst(typed: string, names: readonly string[]): readonly string[] {
  return names.toSorted((a, b) => distance(typed, a) - distance(typed, b))
}

/** The Levenshtein distance: how many letters to insert, remove or replace. */
export function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1]
    for (let column = 0; column < to.length; column++) {
      const replaced = (row[column] ?? 0) + (letter === to[column] ? 0 : 1)
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1))
    }
    row = next
  }
  return row[to.length] ?? 0
}
