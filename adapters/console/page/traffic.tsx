import { useEffect, useState } from 'preact/hooks'
import type { Second } from '../messages.js'
import type { PanelProps } from './panel.js'
import { Panel } from './parts.js'
import { countOf, shortCountOf, timeOf } from './time.js'

/** The order of `Second.counts`, with the name and the color of each. */
const SERIES = [
  ['2xx', 'ok'],
  ['4xx', 'refused'],
  ['429', 'limited'],
  ['Banned', 'banned'],
  ['5xx and lost', 'failed'],
] as const

const MINUTES = 5
/** Seconds in a bar: few enough to see a burst, and a bar of five minutes fits on a phone. */
const BAR = 5
const BARS = (MINUTES * 60) / BAR

/** A bar's beginning in Unix seconds, and its requests in the order of `SERIES`. */
interface Bar {
  readonly at: number
  readonly counts: readonly number[]
}

/** The last five minutes, stacked by outcome. */
export function Traffic({ live }: PanelProps) {
  const [, setTick] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => setTick(tick => tick + 1), 1_000)
    return () => clearInterval(timer)
  }, [])
  const now = Math.floor((Date.now() + live.skew) / 1000)
  const bars = barsOf(live.traffic, now)
  const totals = sumOf(bars)
  return (
    <Panel
      title="Traffic"
      class="traffic"
      actions={
        <ul class="legend" aria-label="Requests of the last five minutes">
          {SERIES.map(([name, tone], at) => (
            <li key={name} class={tone}>
              {name} <b>{shortCountOf(totals[at] ?? 0)}</b>
            </li>
          ))}
        </ul>
      }
    >
      <div class="chart">
        <Chart bars={bars} />
      </div>
      <MinuteTable bars={bars} />
    </Panel>
  )
}

function Chart({ bars }: { readonly bars: readonly Bar[] }) {
  const top = roundUp(Math.max(...bars.map(({ counts }) => total(counts))))
  return (
    <div
      class="plot"
      role="img"
      aria-label={`Requests of the last five minutes: ${inWords(sumOf(bars))}`}
    >
      {[1, 0.5, 0].map(share => (
        <span key={share} class="level" style={{ bottom: `${share * 100}%` }}>
          {shortCountOf(top * share)}
        </span>
      ))}
      <svg viewBox={`0 0 ${BARS} ${top}`} preserveAspectRatio="none" aria-hidden="true">
        {SERIES.map(([name, tone], at) => (
          <path key={name} class={tone} d={bars.map((bar, x) => boxOf(bar, x, at, top)).join('')} />
        ))}
        {bars.map(({ at, counts }, x) => (
          <rect key={x} class="hit" x={x} width="1" height={top}>
            {total(counts) > 0 && (
              <title>{`${timeOf(at * 1000)} to ${timeOf((at + BAR) * 1000)}: ${inWords(counts)}`}</title>
            )}
          </rect>
        ))}
      </svg>
      {Array.from({ length: MINUTES + 1 }, (_, minute) => (
        <span key={minute} class="minute" style={{ right: `${(minute * 100) / MINUTES}%` }}>
          {minute === 0 ? 'now' : `${minute} min`}
        </span>
      ))}
    </div>
  )
}

/** What the chart shows, for screen readers. */
function MinuteTable({ bars }: { readonly bars: readonly Bar[] }) {
  const minutes = Array.from({ length: MINUTES }, (_, minute) => MINUTES - 1 - minute)
  const perMinute = BARS / MINUTES
  return (
    <div class="hidden">
      <table>
        <caption>Requests by minute</caption>
        <thead>
          <tr>
            <th scope="col">Minutes ago</th>
            {SERIES.map(([name]) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {minutes.map(minute => {
            const first = (MINUTES - 1 - minute) * perMinute
            return (
              <tr key={minute}>
                <th scope="row">{`${minute} to ${minute + 1}`}</th>
                {sumOf(bars.slice(first, first + perMinute)).map((count, at) => (
                  <td key={at}>{countOf(count)}</td>
                ))}
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

/** Bars begin at fixed instants, so that they do not change while they move. */
function barsOf(traffic: readonly Second[], now: number): readonly Bar[] {
  const end = (Math.floor(now / BAR) + 1) * BAR
  const bars = Array.from({ length: BARS }, (_, index) => ({
    at: end - (BARS - index) * BAR,
    counts: SERIES.map(() => 0),
  }))
  for (const { at, counts } of traffic) {
    const bar = bars[BARS - Math.ceil((end - at) / BAR)]
    for (const [series, count] of counts.entries()) {
      if (bar) bar.counts[series] = (bar.counts[series] ?? 0) + count
    }
  }
  return bars
}

/** One series of a bar, above those before it, as part of a path. */
function boxOf({ counts }: Bar, x: number, series: number, top: number): string {
  const count = counts[series] ?? 0
  if (count === 0) return ''
  const y = top - total(counts.slice(0, series + 1))
  return `M${x + 0.1},${y}h.8v${count}h-.8z`
}

function sumOf(bars: readonly Bar[]): readonly number[] {
  return SERIES.map((_, at) => total(bars.map(({ counts }) => counts[at] ?? 0)))
}

function total(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0)
}

function inWords(counts: readonly number[]): string {
  return SERIES.map(([name], at) => `${counts[at]} ${name}`).join(', ')
}

/** The next of 4, 10, 20, 40, 100 …: half of it is a whole number as well. */
function roundUp(value: number): number {
  for (let power = 1; ; power *= 10) {
    const found = [4, 10, 20].find(step => step * power >= value)
    if (found !== undefined) return found * power
  }
}
