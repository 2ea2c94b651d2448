import { type Group, NO_KEY } from './filter.js'
import { Marked } from './parts.js'
import type { Row } from './stream.js'
import { countOf, durationOf, timeOf } from './time.js'

/** The names of the columns; each row has them in its own text, too. */
export function RowHead() {
  return (
    <div class="row row-head" aria-hidden="true">
      <span class="time">Time</span>
      <span class="status">Status</span>
      <span class="method">Method</span>
      <span class="target">Path</span>
      <span class="key">Key</span>
      <span class="left">Left</span>
      <span class="ms">Duration</span>
    </div>
  )
}

/** A request, or equal ones, in a line or two. */
export function RequestRow(props: {
  readonly group: Group
  readonly isOpen: boolean
  readonly onToggle: () => void
}) {
  const { group, isOpen, onToggle } = props
  const { at, method, path, query, status, key, remaining, limit, ms, code } = group.row
  const note = noteOf(group.row)
  const count = group.numbers.length
  return (
    <button type="button" class="row" aria-expanded={isOpen} onClick={onToggle}>
      <span class="time">{timeOf(at)}</span>
      <span class={`status ${toneOf(group.row)}`}>{status ?? '—'}</span>
      <span class="method">{method || '—'}</span>
      <span class="target">
        {path}
        {query && <span class="query">?{query}</span>}
      </span>
      {count > 1 && (
        <span class="count">
          <span aria-hidden="true">×{countOf(count)}</span>
          <span class="hidden">{countOf(count)} times</span>
        </span>
      )}
      <span class="key">{key ?? NO_KEY}</span>
      <span class="left">
        {remaining !== null && `${countOf(remaining)} of ${countOf(limit ?? 0)} left`}
      </span>
      {/* Texts of one length begin at one place, so that nothing moves when they change. */}
      <span class="ms">{ms !== null && durationIn(ms).padStart(8, '\u00a0')}</span>
      {(code !== null || note !== '') && (
        <span class="why">
          {code && <code class="code">{code}</code>} <Marked text={note} />
        </span>
      )}
    </button>
  )
}

function durationIn(ms: number): string {
  return `${ms < 10 ? ms.toFixed(1) : countOf(Math.round(ms))} ms`
}

/** The name of the color in which the outcome is shown. */
export function toneOf({ status, code, lost }: Row): string {
  if (status === null || status >= 500 || lost) return 'failed'
  if (code === 'api_key_banned') return 'banned'
  if (status === 429) return 'limited'
  return status >= 400 ? 'refused' : 'ok'
}

function noteOf(row: Row): string {
  const { status, code, message, hints, lost, replayed, retryAfter } = row
  if (status === null) return 'never answered'
  const time = durationOf((retryAfter ?? 0) * 1000)
  return [
    ...(lost ? ['The response was lost.'] : []),
    ...(replayed ? ['Replayed: an earlier request with this Idempotency-Key stored it.'] : []),
    ...(code === 'api_key_banned' ? [`Banned for ${time}.`] : []),
    ...(code === 'rate_limit_exceeded' ? [`Retry in ${time}.`] : []),
    ...(status !== 429 && message ? [message.replace(/(?<![.?!])$/, '.')] : []),
    ...hints,
  ].join(' ')
}
