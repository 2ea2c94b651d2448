/// <reference lib="esnext.disposable" preserve="true" />
export { ApiError } from '../../src/api-error.js'
export { OptionError } from '../../src/lib/check-options.js'
export type { Duration, Instant } from '../../src/lib/time.js'
export type { AssertPoliteOptions } from '../verdict/assert-options.js'
export type { Exchange } from '../verdict/log/exchange.js'
export type { FaultKind } from '../verdict/log/fault-kinds.js'
export type { Har, HarEntry } from '../verdict/log/har.js'
export type { JournalEntry } from '../verdict/log/recorder.js'
export {
  type Finding,
  type Report,
  reportText,
  type ShownRequest,
  VerdictError,
} from '../verdict/report.js'
export { RULES, type Rule, type RuleId } from '../verdict/rules/index.js'
export type { ResumeOptions, VirtualClock } from './clock/clock.js'
export { createTestDouble } from './create-test-double.js'
export { DEMO_KEYS } from './demo-keys.js'
export type { ReportOptions, TestDouble } from './double.js'
export type { TestDoubleOptions } from './double-options.js'
export { EDGE_ANIMALS } from './edge-animals.js'
export type { ExchangeFilter } from './exchange-filter.js'
export { type Explored, explore, runSchedule, type ScheduleRun } from './explore/explore.js'
export { type ExploreOptions, FAULTS } from './explore/explore-options.js'
export type { Ended, RunFailure, Tools, Work } from './explore/run.js'
export type { Progress } from './explore/search.js'
export type { ArmedFault, Fault } from './faults/fault.js'
export { RecordingError, type Step } from './recording/file.js'
export type { Recording } from './recording/record.js'
export {
  type Difference,
  type OpenRecording,
  openRecording,
  type ReplayedRecording,
  type ReplayOptions,
} from './recording/replay-steps.js'
export type { Snapshot } from './snapshot.js'
