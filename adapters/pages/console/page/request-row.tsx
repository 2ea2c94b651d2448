import { outcomeOf } from '../outcome.js'
import { Button, Marked } from './components.js'
import type { Group } from './filter.js'
import type { Row } from './stream.js'
import { countOf, durationOf, elapsedOf, timeOf } from './time.js'

const COLUMNS = ['Time', 'Status', 'Method', 'Path', 'Key', 'Client', 'Left', 'Duration']

/** Column headings, which each row repeats in its text. */
export function RowHead() {
  return (
    <div class="row row-head" aria-hidden="true">
      {COLUMNS.map(name => (
        <span key={name} class={name.toLowerCase()}>
          {name}
        </span>
      ))}
    </div>
  )
}

/** One request, or several equal ones. */
export function RequestRow(props: {
  readonly group: Group
  readonly isOpen: boolean
  /** True if the server no longer has the request. */
  readonly isOld: boolean
  /** True for the row that Tab reaches; arrows reach the others. */
  readonly isStop: boolean
  readonly rules: readonly string[]
  /** Earlier requests, newest first. */
  readonly earlier: readonly Row[]
  readonly onToggle: () => void
}) {
  const { group, isOpen, isOld, isStop, rules, earlier, onToggle } = props
  const [row] = group
  const { at, method, path, query, status, sender, client, remaining, limit, durationMs, code } =
    row
  const note = [...noteOf(row), ...retryNote(row, earlier)].join(' ')
  const count = countOf(group.length)
  return (
    <Button
      class="row"
      tabIndex={isStop ? 0 : -1}
      disabled={isOld}
      aria-expanded={isOpen}
      onClick={onToggle}
    >
      <span class="time">{timeOf(at)}</span>
      <span class={`status ${outcomeOf(row)}`}>{status ?? '—'}</span>
      <span class="method">{method || '—'}</span>
      <span class="path">
        <span>
          {path}
          {query && <span class="muted">?{query}</span>}
        </span>
        {count !== '1' && (
          <span class="chip">
            <span aria-hidden="true">×{count}</span>
            <span class="hidden"> {count} times</span>
          </span>
        )}
      </span>
      <span class="key">{sender}</span>
      <span class="client" title={client}>
        {programOf(client)} {connectionsOf(group)}
      </span>
      <span class="left">
        {remaining !== null && `${countOf(remaining)} of ${countOf(limit ?? 0)}`}
        {remaining !== null && <span class="hidden"> left</span>}
      </span>
      {/* Texts of one length begin at one place, so that nothing moves when they change. */}
      <span class="duration">{durationIn(durationMs).padStart(8, '\u00a0')}</span>
      {(code !== null || note !== '' || rules.length > 0) && (
        <span class="why">
          {rules.map(rule => (
            <span key={rule} class="chip dot banned">
              {rule}
            </span>
          ))}{' '}
          {code && <code class="ink">{code}</code>} <Marked text={note} />
        </span>
      )}
    </Button>
  )
}

/** `curl` of `curl/8.5.0`; browsers list many names. */
function programOf(client: string): string {
  const [name = ''] = client.split(/[/ ;(]/)
  return name === 'Mozilla' ? 'browser' : name
}

/** `c3`, or `2 conns` for folded requests. */
function connectionsOf(group: Group): string {
  const [first, ...others] = new Set(group.map(({ connection }) => connection))
  if (others.length > 0) return `${others.length + 1} conns`
  return first ? `c${first}` : ''
}

function durationIn(ms: number): string {
  return `${ms < 10 ? ms.toFixed(1) : countOf(Math.round(ms))} ms`
}

function noteOf(row: Row): readonly string[] {
  const { status, code, message, hints, lost, replayed, retryAfter } = row
  if (status === null) return ['never answered']
  const time = durationOf((retryAfter ?? 0) * 1000)
  return [
    ...(lost ? ['The response was lost.'] : []),
    ...(replayed ? ['Replayed: an earlier request with this Idempotency-Key stored it.'] : []),
    ...(code === 'api_key_banned' ? [`Banned for ${time}.`] : []),
    ...(code === 'rate_limit_exceeded' ? [`Retry in ${time}.`] : []),
    ...(status !== 429 && message ? [message.replace(/(?<![.?!])$/, '.')] : []),
    ...hints,
  ]
}

/** Time from a rejection to its retry, and how much too early that was. */
function retryNote(row: Row, earlier: readonly Row[]): readonly string[] {
  const before = earlier.find(
    ({ epoch, keyId, method, path }) =>
      epoch === row.epoch && keyId === row.keyId && method === row.method && path === row.path,
  )
  if (before?.retryAfter === undefined || before.retryAfter === null) return []
  const gap = row.at - before.at
  const left = before.retryAfter * 1_000 - gap
  const early = left > 0 ? `, ${elapsedOf(left)} too early` : ''
  return [`Sent ${elapsedOf(gap)} after the ${before.status}${early}.`]
}
