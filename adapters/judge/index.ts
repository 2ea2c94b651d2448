export {
  type Finding,
  type Report,
  reportText,
  type ShownRequest,
  VerdictError,
} from '../verdict/report.js'
export { RULES, type Rule, type RuleId } from '../verdict/rules/index.js'
export { type Judge, judge } from './judge.js'
export type { JudgeReport } from './observer.js'
export type { JudgeOptions } from './options.js'
