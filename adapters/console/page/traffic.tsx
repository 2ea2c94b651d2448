import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import type { Second } from '../messages.js'
import type { PanelProps } from './panel.js'
import { Panel } from './parts.js'
import { shortCountOf } from './time.js'

/** The order of `Second.counts`, with the name and the color of each. */
const SERIES = [
  ['2xx', 'ok'],
  ['4xx', 'refused'],
  ['429', 'limited'],
  ['Banned', 'banned'],
  ['5xx and lost', 'failed'],
] as const

const HEIGHT = 148
/** Seconds shown; a narrow chart shows fewer, so that a bar stays visible. */
const LONGEST = 300
const WIDTH_OF_SECOND = 4

export function Traffic({ live }: PanelProps) {
  const { traffic, skew } = live
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const latest = useRef({ traffic, skew })
  latest.current = { traffic, skew }

  useEffect(() => {
    const element = box.current as HTMLDivElement
    const draw = () => {
      const now = Math.floor((Date.now() + latest.current.skew) / 1000)
      plot.current?.setData(dataOf(latest.current.traffic, now, plot.current.width))
    }
    const rebuild = () => {
      plot.current?.destroy()
      plot.current = new uPlot(optionsOf(element), [[]], element)
      draw()
    }
    rebuild()
    const timer = setInterval(draw, 1_000)
    const resizing = new ResizeObserver(() => {
      plot.current?.setSize({ width: element.clientWidth, height: HEIGHT })
      draw()
    })
    resizing.observe(element)
    // A canvas does not follow the style sheet by itself.
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', rebuild)
    return () => {
      clearInterval(timer)
      resizing.disconnect()
      scheme.removeEventListener('change', rebuild)
      plot.current?.destroy()
    }
  }, [])

  const totals = SERIES.map((_, at) => traffic.reduce((sum, one) => sum + (one.counts[at] ?? 0), 0))
  const summary = SERIES.map(([name], at) => `${totals[at]} ${name}`).join(', ')
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
      <div
        class="chart"
        ref={box}
        role="img"
        aria-label={`Requests per second over the last minutes: ${summary}`}
      />
    </Panel>
  )
}

/** Every second of the window, with each series stacked on those before it, the tallest first. */
function dataOf(traffic: readonly Second[], now: number, width: number): uPlot.AlignedData {
  const length = Math.min(LONGEST, Math.floor(width / WIDTH_OF_SECOND))
  const times = Array.from({ length }, (_, index) => now - length + 1 + index)
  const bySecond = new Map(traffic.map(({ at, counts }) => [at, counts]))
  const sums = SERIES.map((_, at) =>
    times.map(time => {
      const counts = bySecond.get(time)?.slice(0, at + 1) ?? []
      const sum = counts.reduce((total, count) => total + count, 0)
      return sum === 0 ? null : sum
    }),
  )
  return [times, ...sums.reverse()]
}

function optionsOf(element: HTMLElement): uPlot.Options {
  const styles = getComputedStyle(element)
  const color = (name: string) => styles.getPropertyValue(`--${name}`).trim()
  const axis = {
    stroke: color('muted'),
    font: `11px ${styles.fontFamily}`,
    ticks: { show: false },
  }
  const bars = uPlot.paths.bars?.({ size: [0.8, 24], align: 1 })
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    padding: [8, 24, 0, 0],
    scales: { y: { range: (_plot, _min, max) => [0, Math.max(4, Math.ceil((max ?? 0) * 1.1))] } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 24,
        space: 80,
        splits: (_plot, _axis, from, to) => minutesBetween(from, to),
        values: (_plot, ticks) =>
          ticks.map((_, index) => (index === 0 ? 'now' : `${index} min ago`)),
      },
      {
        ...axis,
        grid: { stroke: color('line'), width: 1 },
        size: 36,
        space: 34,
        incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000],
      },
    ],
    series: [
      {},
      ...SERIES.toReversed().map(([label, tone]) => ({
        label,
        fill: color(tone),
        width: 0,
        points: { show: false },
        ...(bars && { paths: bars }),
      })),
    ],
  }
}

/** The end and every full minute before it: positions that stay fixed as time passes. */
function minutesBetween(from: number, to: number): number[] {
  return Array.from({ length: Math.floor((to - from) / 60) + 1 }, (_, minutes) => to - 60 * minutes)
}
