import { withControl } from './control/control.js'
import { createDouble, type TestDouble } from './double.js'
import type { TestDoubleOptions } from './options.js'

/**
 * A store in memory, on a clock that stands still until it is told otherwise.
 *
 * @throws OptionError naming an option that is not right, and its value
 */
export function createTestDouble(options: TestDoubleOptions = {}): TestDouble {
  if (!options.control) return createDouble(options)
  return createDouble(options, double => withControl(double, options))
}
