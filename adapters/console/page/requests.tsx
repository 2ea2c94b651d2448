import { useRef, useState } from 'preact/hooks'
import type { PanelProps } from './panel.js'
import { Choice, Panel } from './parts.js'
import { RequestDetail } from './request-detail.js'
import type { Row } from './stream.js'
import { countOf, durationOf, timeOf } from './time.js'

interface Filter {
  readonly key: string
  readonly operation: string
  readonly status: string
}

const EVERYTHING: Filter = { key: '', operation: '', status: '' }
/** Rows at first, and with each "more"; what follows below should not be far on a small screen. */
const SHOWN = matchMedia('(max-width: 760px)').matches ? 25 : 100

export function Requests({ live, world }: PanelProps) {
  const [filter, setFilter] = useState(EVERYTHING)
  const [paused, setPaused] = useState(false)
  const [open, setOpen] = useState<number>()
  const [shown, setShown] = useState(SHOWN)
  // While someone reads, the rows stay in place and new ones are only counted.
  const held = useRef(live.rows)
  const isHeld = paused || open !== undefined
  if (!isHeld) held.current = live.rows
  const rows = held.current.filter(row => fits(row, filter))
  const newest = held.current[0]?.n ?? 0
  const waiting = isHeld ? (live.rows[0]?.n ?? 0) - newest : 0
  const keys = [...new Set(live.rows.map(({ key }) => key ?? NO_KEY))].sort()

  return (
    <Panel title="Requests" class="requests" actions={<Summary {...{ live, waiting, release }} />}>
      <div class="filters">
        <Choice
          label="Key"
          value={filter.key}
          options={[['', 'All keys'], ...keys.map(key => [key, key] as const)]}
          onChange={key => setFilter({ ...filter, key })}
        />
        <Choice
          label="Operation"
          value={filter.operation}
          options={OPERATIONS}
          onChange={operation => setFilter({ ...filter, operation })}
        />
        <Choice
          label="Status"
          value={filter.status}
          options={STATUSES}
          onChange={status => setFilter({ ...filter, status })}
        />
        <button type="button" aria-pressed={paused} onClick={() => setPaused(!paused)}>
          {paused ? 'Resume' : 'Pause'}
        </button>
      </div>
      <ol class="rows">
        {rows.slice(0, shown).map((row, slot) => (
          // Rows keep their places and change their content, so that nothing on the page moves.
          <li key={slot}>
            <RequestRow
              row={row}
              isOpen={row.n === open}
              onToggle={() => setOpen(row.n === open ? undefined : row.n)}
            />
            {row.n === open && <RequestDetail n={row.n} world={world} />}
          </li>
        ))}
      </ol>
      {rows.length === 0 && <Nothing isFiltered={live.rows.length > 0} />}
      {rows.length > shown && (
        <button type="button" class="more" onClick={() => setShown(shown + SHOWN)}>
          Show {Math.min(SHOWN, rows.length - shown)} more
        </button>
      )}
    </Panel>
  )

  function release(): void {
    setOpen(undefined)
    setPaused(false)
  }
}

function Summary(props: {
  readonly live: PanelProps['live']
  readonly waiting: number
  readonly release: () => void
}) {
  const { live, waiting, release } = props
  const count = live.rows.length
  const left = live.omitted > 0 ? `, ${countOf(live.omitted)} more not shown` : ''
  return (
    <>
      <span class="summary">{`${countOf(count)} ${count === 1 ? 'request' : 'requests'}${left}`}</span>
      {waiting > 0 && (
        <button type="button" class="waiting" onClick={release}>
          Show {countOf(waiting)} new
        </button>
      )}
    </>
  )
}

function RequestRow(props: {
  readonly row: Row
  readonly isOpen: boolean
  readonly onToggle: () => void
}) {
  const { row, isOpen, onToggle } = props
  const { at, method, path, query, status, key, remaining, limit, ms } = row
  return (
    <button type="button" class="row" aria-expanded={isOpen} onClick={onToggle}>
      <span class="time">{timeOf(at)}</span>
      <span class={`status ${toneOf(row)}`}>{status ?? '—'}</span>
      <span class="method">{method || '—'}</span>
      <span class="target">
        {path}
        {query && <span class="query">?{query}</span>}
      </span>
      <span class="note">{noteOf(row)}</span>
      <span class="key">{key ?? NO_KEY}</span>
      <span class="left">
        {remaining !== null && (
          <Padded text={`${countOf(remaining)} / ${countOf(limit ?? 0)}`} length={13} />
        )}
      </span>
      <span class="ms">
        {ms !== null && (
          <Padded text={`${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`} length={8} />
        )}
      </span>
    </button>
  )
}

function Nothing({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered) return <p class="empty">No request matches these filters.</p>
  return (
    <p class="empty">
      No requests yet. <a href="#start">Get started</a> with a request to paste.
    </p>
  )
}

/** Texts of one width all begin at one place, so that no layout shifts when they change. */
function Padded({ text, length }: { readonly text: string; readonly length: number }) {
  return (
    <>
      <span class="padding">{'\u00a0'.repeat(Math.max(0, length - text.length))}</span>
      {text}
    </>
  )
}

const NO_KEY = 'no key'

const OPERATIONS = [
  ['', 'All operations'],
  ['listPets', 'listPets'],
  ['createPet', 'createPet'],
  ['getPet', 'getPet'],
  ['none', 'Other'],
] as const

const STATUSES = [
  ['', 'Every status'],
  ['2', '2xx'],
  ['4', '4xx'],
  ['429', '429'],
  ['5', '5xx'],
  ['lost', 'Lost'],
] as const

function fits(row: Row, { key, operation, status }: Filter): boolean {
  if (key !== '' && (row.key ?? NO_KEY) !== key) return false
  if (operation !== '' && (row.operation ?? 'none') !== operation) return false
  if (status === 'lost') return row.lost || row.status === null
  return String(row.status ?? '').startsWith(status)
}

/** The name of the color in which the outcome is shown. */
export function toneOf({ status, code, lost }: Row): string {
  if (status === null || status >= 500 || lost) return 'failed'
  if (code === 'api_key_banned') return 'banned'
  if (status === 429) return 'limited'
  return status >= 400 ? 'refused' : 'ok'
}

function noteOf({ status, code, lost, replayed, retryAfter }: Row): string {
  if (status === null) return 'never answered'
  if (lost) return 'response lost'
  if (replayed) return 'replayed'
  if (retryAfter === null) return ''
  const time = durationOf(retryAfter * 1000)
  return code === 'api_key_banned' ? `banned ${time}` : `retry in ${time}`
}
