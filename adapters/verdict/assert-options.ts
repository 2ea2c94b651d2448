import { isBoolean, type OptionsOf, withDefault } from '../../src/lib/check-options.js'

export const ASSERT_OPTIONS = {
  /** Also fails on notes of rules that `allow` does not list. @default false */
  notes: withDefault(isBoolean, false),
}
/**
 * @example
 * import { createTestDouble } from 'animal-adoption-store/test-double'
 *
 * const double = createTestDouble()
 * await double.fetch(`${double.baseUrl}/pets`, { headers: { authorization: 'Bearer demo-free' } })
 * double.assertPolite({ notes: true })
 */
export interface AssertPoliteOptions extends OptionsOf<typeof ASSERT_OPTIONS> {}
