import { useEffect, useState } from 'preact/hooks'
import type { Live } from './stream.js'

/** Returns the store's time in ms, twice a second; undefined before the first message. */
export function useNow({ state, receivedAt }: Live): number | undefined {
  const [, setTick] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => setTick(tick => tick + 1), 500)
    return () => clearInterval(timer)
  }, [])
  if (!state) return undefined
  return state.frozen ? state.now : state.now + performance.now() - receivedAt
}

/** Formats `12:01:07`, in UTC. */
export function timeOf(ms: number): string {
  return new Date(ms).toISOString().slice(11, 19)
}

/** Formats `1 Jan 2030`, in UTC. */
export function dateOf(ms: number): string {
  const format = { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' } as const
  return new Date(ms).toLocaleDateString('en-GB', format)
}

/** Formats `26 s`, `4 min 10 s` or `3 h 5 min`, without line breaks. */
export function durationOf(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000))
  const minutes = Math.floor(seconds / 60)
  const parts =
    minutes < 60
      ? [minutes && `${minutes} min`, (seconds % 60 || minutes === 0) && `${seconds % 60} s`]
      : [`${Math.floor(minutes / 60)} h`, `${minutes % 60} min`]
  return parts.filter(Boolean).join(' ').replaceAll(' ', '\u00a0')
}

/** Formats `2 ms`, `1.4 s` or, from a minute on, as `durationOf`. */
export function elapsedOf(ms: number): string {
  if (ms >= 60_000) return durationOf(ms)
  return ms < 1_000 ? `${ms}\u00a0ms` : `${Number((ms / 1_000).toFixed(1))}\u00a0s`
}

/** Formats `1,234`, or with a noun `1 request` and `1,234 requests`. */
export function countOf(value: number, noun = ''): string {
  const ending = noun && value !== 1 ? 's' : ''
  return `${value.toLocaleString('en-US')}${noun && ` ${noun}`}${ending}`
}

/** Formats at most five characters, for a fixed width: `9,999`, `10K`, `120K`, `1M`. */
export function shortCountOf(value: number): string {
  if (value < 10_000) return countOf(value)
  return value.toLocaleString('en-US', { notation: 'compact', maximumFractionDigits: 1 })
}
