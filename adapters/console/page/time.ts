import { useEffect, useState } from 'preact/hooks'
import type { Live } from './stream.js'

/** The store's time, in ms; undefined before the first message. Running clocks redraw every second. */
export function useNow({ state, receivedAt }: Live): number | undefined {
  const [, setTick] = useState(0)
  const isRunning = state !== undefined && !state.frozen
  useEffect(() => {
    if (!isRunning) return undefined
    const timer = setInterval(() => setTick(tick => tick + 1), 500)
    return () => clearInterval(timer)
  }, [isRunning])
  if (!state) return undefined
  return state.frozen ? state.now : state.now + performance.now() - receivedAt
}

/** `12:01:07`, in UTC. */
export function timeOf(ms: number): string {
  return new Date(ms).toISOString().slice(11, 19)
}

/** `1 Jan 2030`, in UTC. */
export function dateOf(ms: number): string {
  const format = { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' } as const
  return new Date(ms).toLocaleDateString('en-GB', format)
}

/** `26 s`, `4 min 10 s`, `3 h 5 min`. */
export function durationOf(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000))
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60)
    return seconds % 60 === 0 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

export function countOf(value: number): string {
  return value.toLocaleString('en-US')
}

/** At most five characters, for a place that keeps its width: `9,999`, `10K`, `120K`, `1M`. */
export function shortCountOf(value: number): string {
  if (value < 10_000) return countOf(value)
  return value.toLocaleString('en-US', { notation: 'compact', maximumFractionDigits: 1 })
}
