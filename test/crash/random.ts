/** An integer from 0 up to, but not including, the bound. */
export type Random = (bound: number) => number

/** The same numbers for the same seed (xorshift32). */
export function createRandom(seed: number): Random {
  let state = Math.imul(seed + 1, 0x9e3779b1) | 1
  return bound => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % bound
  }
}
