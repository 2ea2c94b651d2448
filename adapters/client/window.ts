import { SECOND } from '../../src/limits/decide.js'

/**
 * Over how long several clients use a window after the roll call: 317 ms for each unit of Free, and
 * more than half of the window remains for what is left over.
 */
export const SPREAD = 19 * SECOND
/** The end of a window for which nobody plans, because clocks and networks are not exact. */
export const MARGIN = 2 * SECOND

/** What a client knows about the current window of a key. */
export interface Window {
  /** As reported, in Unix seconds. */
  readonly reset: number
  readonly limit: number
  /** Longer than a minute, such as a day's. */
  readonly isLong: boolean
  /** By the local clock. */
  endsAt: number
  /** The least that a response reported. */
  remaining: number
  /** Whether it is this client's first, and whether the client was there for the roll call. */
  readonly isFirst: boolean
  readonly isRollCall: boolean
  /** How many requests preceded this client's first, itself included. */
  readonly rank: number
  /** Own requests: those with a number, all, and those answered since `others` was last counted. */
  turns: number
  sent: number
  answered: number
  /** Units that others used, at least: now, and at this client's last number. */
  others: number
  countedOthers: number
  /** At this client's second number, and how many units per ms others have used since. */
  second: { readonly at: number; readonly others: number } | undefined
  rate: number
  wasRejected: boolean
  /** When the even pace begins, and with which number. */
  from: { readonly at: number; readonly number: number }
  /** By how many units everyone together was late at this client's last number. */
  lag: number
}

export const NO_WINDOW: Window = {
  reset: Number.NEGATIVE_INFINITY,
  limit: 0,
  isLong: false,
  endsAt: 0,
  remaining: Number.POSITIVE_INFINITY,
  rate: 0,
  isFirst: false,
  isRollCall: false,
  rank: 0,
  turns: 0,
  sent: 0,
  answered: 0,
  others: 0,
  countedOthers: 0,
  wasRejected: false,
  from: { at: 0, number: 0 },
  second: undefined,
  lag: 0,
}

/** The number of the window's last unit, counted through all windows. */
export function lastNumber({ reset, limit }: Window): number {
  return Math.floor(reset / 60) * limit
}

/** When the last unit is due. */
export function spentAt({ from, endsAt }: Window): number {
  return Math.min(from.at + SPREAD, endsAt - MARGIN)
}

/** When a unit is due. */
export function timeOf(window: Window, number: number): number {
  const { from } = window
  const share = (number - from.number) / (lastNumber(window) - from.number)
  return from.at + share * (spentAt(window) - from.at)
}

/** Which unit is due. */
export function turnAt(window: Window, time: number): number {
  const { from } = window
  const share = (time - from.at) / (spentAt(window) - from.at)
  return from.number + share * (lastNumber(window) - from.number)
}
