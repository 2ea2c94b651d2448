export { OptionError } from '../../src/lib/options.js'
export type { Check, Level, Requirement } from './check.js'
export { CHECKS } from './checks/index.js'
export { conformance, type TestFunction } from './conformance.js'
export type {
  CheckResult,
  ConformanceOptions,
  ConformanceProgress,
  ConformanceWait,
} from './options.js'
export { type ConformanceReport, verify } from './verify.js'
export { VerifyError } from './verify-error.js'
