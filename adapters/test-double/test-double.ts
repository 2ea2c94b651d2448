import { withControl } from './control/control.js'
import { createDouble, type TestDouble } from './double.js'
import type { TestDoubleOptions } from './options.js'

/**
 * Creates a store in memory, on a clock that is frozen unless an option says otherwise.
 *
 * @throws OptionError naming the invalid option and its value
 */
export function createTestDouble(options: TestDoubleOptions = {}): TestDouble {
  if (!options.control) return createDouble(options)
  return createDouble(options, double => withControl(double, options))
}
