import { createRandom } from '../crash/random.js'

export type Choices = ReturnType<typeof choicesOf>

/**
 * Random choices that depend on these words, and on nothing else. Every decision has words of its own, such as a client and the
 * number of its request: so leaving out one event does not change what the others meet.
 */
export function choicesOf(...words: readonly (string | number)[]) {
  const random = createRandom(hashOf(words.join(' ')))
  const fraction = () => random(2 ** 30) / 2 ** 30
  return {
    /** An integer from 0 up to, but not including, the bound. */
    below: (bound: number) => Math.floor(fraction() * bound),
    /** From least up to, but not including, most; not an integer. */
    between: (least: number, most: number) => least + fraction() * (most - least),
    chance: (probability: number) => fraction() < probability,
    pick: <T>(from: readonly T[]) => from[Math.floor(fraction() * from.length)] as T,
  }
}

/** 32 bits (FNV-1a, then the finalizer of MurmurHash3, as similar words must not give similar choices). */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
