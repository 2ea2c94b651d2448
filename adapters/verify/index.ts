export { OptionError } from '../../src/lib/check-options.js'
export type { Wait, WaitReason } from '../client/hooks.js'
export type { Check, Level, Requirement } from './check-types.js'
export { CHECKS } from './checks/index.js'
export { type VerifyReport, verify } from './verify.js'
export { VerifyError } from './verify-error.js'
export type {
  CheckResult,
  VerifyOptions,
  VerifyProgress,
} from './verify-options.js'
export { type TestFunction, verifySuite } from './verify-suite.js'
