export { OptionError } from '../../../src/lib/check-options.js'
export type { AssertPoliteOptions } from '../assert-options.js'
export {
  type Finding,
  type Report,
  reportText,
  type ShownRequest,
  VerdictError,
} from '../report.js'
export { RULES, type Rule, type RuleId } from '../rules/index.js'
export { type Judge, judge } from './judge.js'
export type { JudgeOptions } from './judge-options.js'
export type { JudgeReport } from './observer.js'
