import type { Second } from '../activity.js'
import { OUTCOMES } from '../outcome.js'
import { Button, Panel, type PanelProps } from './components.js'
import { BAR, OUTCOME_NAMES } from './filter.js'
import { shortCountOf, timeOf } from './time.js'

const MINUTES = 5
const BARS = (MINUTES * 60) / BAR

/** The last five minutes, stacked by outcome. */
export function Traffic({ live, place, go }: PanelProps) {
  const bars = barsOf(live.traffic, Math.floor((Date.now() + live.skew) / 1000))
  const totals = OUTCOMES.map((_, series) => sum(bars.map(({ counts }) => counts[series] ?? 0)))
  const top = roundUp(Math.max(...bars.map(({ counts }) => sum(counts))))
  return (
    <Panel
      title="Traffic"
      actions={
        <ul class="line legend push" aria-label="Requests of the last five minutes">
          {OUTCOMES.map((outcome, at) => (
            <li key={outcome}>
              <Button
                class={`plain dot ${outcome}`}
                title="Show only these"
                onClick={() => go({ parameters: { status: outcome } })}
              >
                {OUTCOME_NAMES[outcome]}&nbsp;<b>{shortCountOf(totals[at] ?? 0)}</b>
              </Button>
            </li>
          ))}
        </ul>
      }
    >
      <div
        class="plot"
        role="img"
        aria-label={`Requests of the last five minutes: ${inWords(totals)}`}
      >
        {[1, 0.5, 0].map(share => (
          <span key={share} class="level" style={{ bottom: `${share * 100}%` }}>
            {shortCountOf(top * share)}
          </span>
        ))}
        <svg viewBox={`0 0 ${BARS} ${top}`} preserveAspectRatio="none" aria-hidden="true">
          {bars.map(({ at, counts }, x) => (
            // biome-ignore lint/a11y/noStaticElementInteractions: for keyboards there are the legend and the filters
            <g
              key={x}
              class={`bar ${place.parameters['bar'] === `${at}` ? 'on' : ''}`}
              onClick={() => go({ parameters: { bar: `${at}` } })}
            >
              <title>{`${timeOf(at * 1000)} to ${timeOf((at + BAR) * 1000)}: ${inWords(counts)}`}</title>
              <rect x={x} width="1" height={top} />
              {OUTCOMES.map((outcome, series) => (
                <path key={outcome} class={outcome} d={boxOf(counts, x, series, top)} />
              ))}
            </g>
          ))}
        </svg>
        {Array.from({ length: MINUTES + 1 }, (_, minute) => (
          <span key={minute} class="minute" style={{ right: `${(minute * 100) / MINUTES}%` }}>
            {minute === 0 ? 'now' : `${minute} min`}
          </span>
        ))}
      </div>
    </Panel>
  )
}

/** Bars begin at fixed instants, so that they move without changing. */
function barsOf(traffic: readonly Second[], now: number): readonly Second[] {
  const end = (Math.floor(now / BAR) + 1) * BAR
  return Array.from({ length: BARS }, (_, index) => {
    const at = end - (BARS - index) * BAR
    const seconds = traffic.filter(second => second.at >= at && second.at < at + BAR)
    return {
      at,
      counts: OUTCOMES.map((_, series) => sum(seconds.map(({ counts }) => counts[series] ?? 0))),
    }
  })
}

/** Draws one series of a bar, above the previous ones. */
function boxOf(counts: readonly number[], x: number, series: number, top: number): string {
  const count = counts[series] ?? 0
  if (count === 0) return ''
  return `M${x + 0.1},${top - sum(counts.slice(0, series + 1))}h.8v${count}h-.8z`
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0)
}

function inWords(counts: readonly number[]): string {
  return OUTCOMES.map((outcome, at) => `${counts[at]} ${OUTCOME_NAMES[outcome]}`).join(', ')
}

/** Rounds up to 4, 10, 20, 40, 100 …, all of which can be halved. */
function roundUp(value: number): number {
  for (let power = 1; ; power *= 10) {
    const found = [4, 10, 20].find(step => step * power >= value)
    if (found !== undefined) return found * power
  }
}
