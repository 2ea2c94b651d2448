import { type Limits, PLANS, type PlanTable } from '../../src/limits/plans.js'

/** 2030-01-01T00:00:00Z, where the clock of the vectors starts. */
export const T0 = 1_893_456_000_000

/**
 * `count` requests at one instant, and the outcome of the last. `at` is in ms after T0,
 * `reset` in seconds after it. `caller` is a partition and its policy: a plan, or
 * perMinute/perDay/banAfterRejections. Outcome `RL` is `rate_limit_exceeded`, `BAN` is `api_key_banned`.
 */
export type Vector = readonly [
  id: string,
  at: number,
  caller: string,
  count: number,
  outcome: 'ok' | 'RL' | 'BAN',
  limit: number,
  remaining: number,
  reset: number,
  retryAfter?: number,
]

/** The policy of a vector's caller. */
export function limitsOf(name: string): Limits {
  if (Object.hasOwn(PLANS, name)) return PLANS[name as keyof PlanTable]
  const [perMinute = 0, perDay = 0, banAfterRejections] = name.split('/').map(Number)
  return banAfterRejections === undefined
    ? { perMinute, perDay }
    : { perMinute, perDay, banAfterRejections: banAfterRejections }
}

/** Each letter starts with no counts; its rows run in order. */
export const VECTORS: readonly Vector[] = [
  // A: minute window, Free
  ['A1', 0, 'key free', 1, 'ok', 60, 59, 60],
  ['A2', 59999, 'key free', 1, 'ok', 60, 58, 60],
  ['A3', 59999, 'key free', 58, 'ok', 60, 0, 60],
  ['A4', 59999, 'key free', 1, 'RL', 60, 0, 60, 1],
  ['A5', 60000, 'key free', 1, 'ok', 60, 59, 120],
  ['A6', 60001, 'key free', 59, 'ok', 60, 0, 120],
  ['A7', 60001, 'key free', 1, 'RL', 60, 0, 120, 60],
  ['A8', 61000, 'key free', 1, 'RL', 60, 0, 120, 59],
  ['A9', 61001, 'key free', 1, 'RL', 60, 0, 120, 59],
  ['A10', 119000, 'key free', 1, 'RL', 60, 0, 120, 1],
  ['A11', 119001, 'key free', 1, 'RL', 60, 0, 120, 1],
  ['A12', 120000, 'key free', 1, 'ok', 60, 59, 180],
  // B: edge burst: 2x the limit in 2 ms is allowed (accepted trade-off)
  ['B1', 59999, 'key free', 60, 'ok', 60, 0, 60],
  ['B2', 60000, 'key free', 60, 'ok', 60, 0, 120],
  ['B3', 60000, 'key free', 1, 'RL', 60, 0, 120, 60],
  // C: the other plans
  ['C1', 500, 'p pro', 300, 'ok', 300, 0, 60],
  ['C2', 500, 'p pro', 1, 'RL', 300, 0, 60, 60],
  ['C3', 1000, 'b business', 1000, 'ok', 1000, 0, 60],
  ['C4', 1000, 'b business', 1, 'RL', 1000, 0, 60, 59],
  ['C5', 1000, 'f free', 1, 'ok', 60, 59, 60],
  // D: which window is reported; the day limit
  ...Array.from(
    { length: 16 },
    (_, minute): Vector => ['D1', minute * 60_000, 'key free', 60, 'ok', 60, 0, (minute + 1) * 60],
  ),
  ['D2', 960000, 'key free', 1, 'ok', 1000, 39, 86400],
  ['D3', 960000, 'key free', 39, 'ok', 1000, 0, 86400],
  ['D4', 960001, 'key free', 1, 'RL', 1000, 0, 86400, 85440],
  ['D5', 86399001, 'key free', 1, 'RL', 1000, 0, 86400, 1],
  ['D6', 86399999, 'key free', 1, 'RL', 1000, 0, 86400, 1],
  ['D7', 86400000, 'key free', 1, 'ok', 60, 59, 86460],
  // E: tie and order of the two windows
  ['E1', 0, 'e 3/3/10', 1, 'ok', 3, 2, 86400],
  ['E2', 0, 'e 3/3/10', 2, 'ok', 3, 0, 86400],
  ['E3', 0, 'e 3/3/10', 1, 'RL', 3, 0, 86400, 86400],
  ['E4', 60000, 'e 3/3/10', 1, 'RL', 3, 0, 86400, 86340],
  ['E5', 0, 'd 10/4', 4, 'ok', 4, 0, 86400],
  ['E6', 0, 'd 10/4', 1, 'RL', 4, 0, 86400, 86400],
  // F: a rejected request consumes nothing
  ['F1', 0, 'key 5/8', 5, 'ok', 5, 0, 60],
  ['F2', 0, 'key 5/8', 10, 'RL', 5, 0, 60, 60],
  ['F3', 60000, 'key 5/8', 1, 'ok', 8, 2, 86400],
  // G: plan change in the window
  ['G1', 0, 'key free', 60, 'ok', 60, 0, 60],
  ['G2', 0, 'key free', 1, 'RL', 60, 0, 60, 60],
  ['G3', 1, 'key pro', 1, 'ok', 300, 239, 60],
  ['G4', 2, 'key free', 1, 'RL', 60, 0, 60, 60],
  // H: ban, Free (banAfterRejections 30)
  ['H1', 10000, 'key free', 60, 'ok', 60, 0, 60],
  ['H2', 10000, 'key free', 30, 'RL', 60, 0, 60, 50],
  ['H3', 10000, 'key free', 1, 'BAN', 60, 0, 310, 300],
  ['H4', 10001, 'key free', 1, 'BAN', 60, 0, 310, 300],
  ['H5', 11000, 'key free', 1, 'BAN', 60, 0, 310, 299],
  ['H6', 60000, 'key free', 1, 'BAN', 60, 0, 310, 250],
  ['H7', 309999, 'key free', 1, 'BAN', 60, 0, 310, 1],
  ['H8', 310000, 'key free', 1, 'ok', 60, 59, 360],
  ['H9', 310000, 'key free', 59, 'ok', 60, 0, 360],
  ['H10', 310500, 'key free', 30, 'RL', 60, 0, 360, 50],
  ['H11', 310500, 'key free', 1, 'BAN', 60, 0, 911, 601],
  ['H12', 910999, 'key free', 1, 'BAN', 60, 0, 911, 1],
  ['H13', 911000, 'key free', 1, 'ok', 60, 59, 960],
  // I: rejections of separate minutes do not add up
  ['I1', 0, 'key free', 60, 'ok', 60, 0, 60],
  ['I2', 0, 'key free', 30, 'RL', 60, 0, 60, 60],
  ['I3', 60000, 'key free', 60, 'ok', 60, 0, 120],
  ['I4', 60000, 'key free', 30, 'RL', 60, 0, 120, 60],
  ['I5', 120000, 'key free', 1, 'ok', 60, 59, 180],
  // J: ban while the day is exhausted: the later instant is reported
  ['J1', 86280000, 'key 60/20', 20, 'ok', 20, 0, 86400],
  ['J2', 86280000, 'key 60/20', 30, 'RL', 20, 0, 86400, 120],
  ['J3', 86280000, 'key 60/20', 1, 'BAN', 20, 0, 86580, 300],
  ['J4', 86400000, 'key 60/20', 1, 'BAN', 60, 0, 86580, 180],
  ['J5', 86580000, 'key 60/20', 1, 'ok', 20, 19, 172800],
  // K: escalation: 5, 10, 20, 40, 60, 60 min; forgotten after 24 h
  ['K1', 0, 'key free', 91, 'BAN', 60, 0, 300, 300],
  ['K2', 300000, 'key free', 91, 'BAN', 60, 0, 900, 600],
  ['K3', 900000, 'key free', 91, 'BAN', 60, 0, 2100, 1200],
  ['K4', 2100000, 'key free', 91, 'BAN', 60, 0, 4500, 2400],
  ['K5', 4500000, 'key free', 91, 'BAN', 60, 0, 8100, 3600],
  ['K6', 8100000, 'key free', 91, 'BAN', 60, 0, 11700, 3600],
  ['K7', 98099999, 'key free', 91, 'BAN', 60, 0, 101700, 3601],
  ['K8', 188100000, 'key free', 91, 'BAN', 60, 0, 188400, 300],
  // L: clock
  ['L1', 60000, 'key free', 60, 'ok', 60, 0, 120],
  ['L2', 59900, 'key free', 1, 'RL', 60, 0, 120, 61],
  ['L3', 0, 'key free', 1, 'RL', 60, 0, 120, 120],
  ['L4', 60000.7, 'key free', 1, 'RL', 60, 0, 120, 60],
  ['L5', -1, 'key free', 1, 'ok', 60, 59, 0],
  // M: keys are data, not properties
  ['M1', 0, '__proto__ free', 1, 'ok', 60, 59, 60],
  ['M2', 0, 'constructor free', 1, 'ok', 60, 59, 60],
  ['M3', 0, 'toString free', 61, 'RL', 60, 0, 60, 60],
  ['M4', 0, '__proto__ free', 1, 'ok', 60, 58, 60],
  // N: no valid key (anonymous bucket of the address): 200 here means "answer the 401"
  ['N1', 0, 'addr:192.0.2.1 anonymous', 1, 'ok', 60, 59, 60],
  ['N2', 0, 'addr:192.0.2.1 anonymous', 59, 'ok', 60, 0, 60],
  ['N3', 0, 'addr:192.0.2.1 anonymous', 1, 'RL', 60, 0, 60, 60],
  ['N4', 0, 'addr:192.0.2.1 anonymous', 500, 'RL', 60, 0, 60, 60],
  ['N5', 0, 'addr:192.0.2.2 anonymous', 1, 'ok', 60, 59, 60],
  ['N6', 0, 'key free', 1, 'ok', 60, 59, 60],
  // O: restart: state is dumped and restored between the two
  ['O1', 0, 'key free', 40, 'ok', 60, 20, 60],
  ['O2', 1, 'key free', 1, 'ok', 60, 19, 60],
]
