export { OptionError } from '../../../src/lib/check-options.js'
export { type ConsoleHandler, withConsole } from './console.js'
export type { ConsoleOptions, ConsoleWorld } from './console-options.js'
