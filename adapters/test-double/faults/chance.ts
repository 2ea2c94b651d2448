/** From 0 up to 1, exclusive, on every machine. The count is the whole state, which a snapshot can carry. */
export function draw(seed: number, count: number): number {
  // A Weyl sequence, mixed as in MurmurHash3, so that neighbours are unrelated.
  let bits = mix(seed) + Math.imul(count + 1, GOLDEN_RATIO)
  bits = mix(bits)
  return (bits >>> 0) / 2 ** 32
}

/** 2^32 divided by the golden ratio, made odd. */
const GOLDEN_RATIO = 0x9e3779b9

function mix(value: number): number {
  let bits = Math.trunc(value) | 0
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return bits ^ (bits >>> 16)
}
