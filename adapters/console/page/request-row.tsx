import { outcomeOf } from '../messages.js'
import { type Group, NO_KEY } from './filter.js'
import { Marked } from './parts.js'
import type { Row } from './stream.js'
import { countOf, durationOf, timeOf } from './time.js'

/** The names of the columns; each row has them in its own text, too. */
export function RowHead() {
  const columns = ['Time', 'Status', 'Method', 'Path', 'Key', 'Left', 'Duration']
  const areas = ['time', 'status', 'method', 'target', 'key', 'left', 'ms']
  return (
    <div class="row row-head" aria-hidden="true">
      {columns.map((name, at) => (
        <span key={name} class={areas[at]}>
          {name}
        </span>
      ))}
    </div>
  )
}

/** A request, or equal ones, in a line or two. */
export function RequestRow(props: {
  readonly group: Group
  readonly isOpen: boolean
  /** Whether Tab stops here; the arrows reach the other rows. */
  readonly isStop: boolean
  readonly onToggle: () => void
}) {
  const { group, isOpen, isStop, onToggle } = props
  const { at, method, path, query, status, key, remaining, limit, ms, code } = group.row
  const note = noteOf(group.row)
  const count = countOf(group.numbers.length)
  return (
    <button
      type="button"
      class="row"
      tabIndex={isStop ? 0 : -1}
      aria-expanded={isOpen}
      onClick={onToggle}
    >
      <span class="time">{timeOf(at)}</span>
      <span class={`status ${outcomeOf(group.row)}`}>{status ?? '—'}</span>
      <span class="method">{method || '—'}</span>
      <span class="target">
        {path}
        {query && <span class="muted">?{query}</span>}
      </span>
      {count !== '1' && (
        <span class="count">
          <span aria-hidden="true">×{count}</span>
          <span class="hidden">{count} times</span>
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
          {code && <code class="ink">{code}</code>} <Marked text={note} />
        </span>
      )}
    </button>
  )
}

function durationIn(ms: number): string {
  return `${ms < 10 ? ms.toFixed(1) : countOf(Math.round(ms))} ms`
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
