import fc from 'fast-check'

/**
 * For `unit` of `fc.string`: any code point but half of a surrogate pair, every other one of ASCII. The unit
 * `'binary'` of fast-check takes 2 s of CPU to set up.
 */
export const anyCodePoint = fc
  .oneof(fc.nat(0x7f), fc.nat(0x10f7ff))
  .map(number => String.fromCodePoint(number < 0xd800 ? number : number + 0x800))
