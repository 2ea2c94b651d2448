import { useEffect, useRef, useState } from 'preact/hooks'
import {
  EACH_OPERATION,
  EACH_STATUS,
  EVERYTHING,
  type Filter,
  fits,
  type Group,
  grouped,
  NO_KEY,
} from './filter.js'
import { Choice, Field, Panel, type PanelProps, Problem } from './parts.js'
import { RequestDetail } from './request-detail.js'
import { RequestRow, RowHead } from './request-row.js'
import { type Failure, pathsOf, send } from './server.js'
import { Commands } from './start.js'
import type { Row } from './stream.js'
import { countOf } from './time.js'
import { rulesOf } from './verdict.js'

/** Rows at first, and with each "more"; what follows below should not be far on a small screen. */
const SHOWN = matchMedia('(max-width: 760px)').matches ? 25 : 100

/** The latest requests. What is shown, and which request is open, is in the address. */
export function Requests(props: PanelProps) {
  const { live, place, report, go } = props
  const filter: Filter = { ...EVERYTHING, ...place.parameters }
  const open = Number(place.parameters['request']) || undefined
  const isFolded = place.parameters['fold'] !== 'no'
  const [paused, setPaused] = useState(false)
  const [shown, setShown] = useState(SHOWN)
  const change = (changes: Partial<Record<string, string>>) =>
    go({ parameters: { ...place.parameters, ...changes } })

  const held = useHeldRows(live.rows, paused, open)
  const rows = held.filter(row => fits(row, filter))
  const groups = grouped(rows, isFolded)
  const visible = groups.slice(0, shown)
  const isOpen = ({ numbers }: Group) => open !== undefined && numbers.includes(open)
  const openSlot = visible.findIndex(isOpen)
  const waiting = (live.rows[0]?.n ?? 0) - (held[0]?.n ?? 0)
  const isFiltered = Object.keys(EVERYTHING).some(
    name => name !== 'after' && filter[name as keyof Filter] !== '',
  )
  const isCleared = filter.after !== ''
  const detail = open !== undefined && (
    <RequestDetail key={open} {...props} n={open} onOpen={n => change({ request: `${n}` })} />
  )
  const showWaiting = () => {
    setPaused(false)
    change({ request: '' })
  }
  return (
    <Panel
      title="Requests"
      class="requests"
      actions={
        <>
          <span class="muted summary">
            {summaryOf(live, filter, isFiltered ? rows.length : undefined)}
          </span>
          {(isFiltered || isCleared) && (
            <button type="button" class="small" onClick={() => change({ ...EVERYTHING })}>
              Show all
            </button>
          )}
          {waiting > 0 && (
            <button type="button" class="small waiting" onClick={showWaiting}>
              Show {countOf(waiting)} new
            </button>
          )}
          <div class="line push">
            <button type="button" aria-pressed={paused} onClick={() => setPaused(!paused)}>
              {paused ? 'Resume' : 'Pause'}
            </button>
            <button
              type="button"
              disabled={rows.length === 0}
              onClick={() => change({ after: `${live.rows[0]?.n}`, request: '' })}
            >
              Clear
            </button>
            <SaveHar {...props} rows={rows} />
          </div>
        </>
      }
    >
      <Filters
        filter={filter}
        keys={[...new Set(live.rows.map(({ key }) => key ?? NO_KEY))].sort()}
        isFolded={isFolded}
        onChange={change}
      />
      {openSlot < 0 && detail && <section aria-label={`Request ${open}`}>{detail}</section>}
      {groups.length > 0 && <RowHead />}
      {/* Rows keep their places and change their content, so that nothing on the page moves. */}
      <ol
        class="rows"
        aria-label="Requests"
        onKeyDown={event => moveFocus(event, () => change({ request: '' }))}
      >
        {visible.map((group, slot) => (
          <li key={slot}>
            <RequestRow
              group={group}
              isOpen={slot === openSlot}
              isStop={slot === Math.max(0, openSlot)}
              rules={rulesOf(report, group.row)}
              earlier={held.slice(held.indexOf(group.row) + 1)}
              onToggle={() => change({ request: slot === openSlot ? '' : `${group.row.n}` })}
            />
            {slot === openSlot && detail}
          </li>
        ))}
      </ol>
      {groups.length === 0 && isFiltered && <p class="muted">No request matches these filters.</p>}
      {groups.length === 0 && !isFiltered && isCleared && <p class="muted">No requests since.</p>}
      {groups.length === 0 && !isFiltered && !isCleared && (
        <>
          <p class="muted">No requests yet. Paste a command into a terminal:</p>
          <Commands {...props} />
        </>
      )}
      {groups.length > shown && (
        <button type="button" class="more" onClick={() => setShown(count => count + SHOWN)}>
          Show {Math.min(SHOWN, groups.length - shown)} more
        </button>
      )}
    </Panel>
  )
}

/** While someone reads, the rows stay in place and new ones are only counted. */
function useHeldRows(live: readonly Row[], paused: boolean, open: number | undefined) {
  const held = useRef(live)
  const has = (rows: readonly Row[]) => rows.some(({ n }) => n === open)
  const isHeld = paused || open !== undefined
  const isBehind = open !== undefined && !has(held.current) && has(live)
  if (!isHeld || isBehind || held.current.length === 0) held.current = live
  return held.current
}

function summaryOf(
  { rows: all, omitted }: PanelProps['live'],
  { after }: Filter,
  shown: number | undefined,
): string {
  const rows = all.filter(({ n }) => n > Number(after))
  const left = omitted > 0 && after === '' ? `, ${countOf(omitted)} more not shown` : ''
  const text = `${countOf(rows.length)} ${rows.length === 1 ? 'request' : 'requests'}${left}`
  return shown === undefined ? text : `${countOf(shown)} of ${text}`
}

function Filters(props: {
  readonly filter: Filter
  readonly keys: readonly string[]
  readonly isFolded: boolean
  readonly onChange: (changes: Partial<Record<string, string>>) => void
}) {
  const { filter, keys, isFolded, onChange } = props
  const { search, key, operation, status } = filter
  const set = (name: keyof Filter) => (value: string) => onChange({ [name]: value })
  const box = useRef<HTMLElement>(null)
  const [isHelp, setHelp] = useState(false)
  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      if ((event.target as HTMLElement).matches('input, textarea, select')) return
      if (event.key === '?') setHelp(shown => !shown)
      if (event.key !== '/') return
      event.preventDefault()
      box.current?.querySelector('input')?.focus()
    }
    addEventListener('keydown', focus)
    return () => removeEventListener('keydown', focus)
  }, [])
  return (
    <search class="line fields" ref={box}>
      <Field
        label="Search"
        type="search"
        value={search}
        placeholder="path or reason ( / )"
        title="? shows the keys"
        onInput={event => onChange({ search: event.currentTarget.value })}
      />
      <Choice
        label="Key"
        value={key}
        options={[['', 'All keys'], ...keys.map(key => [key, key] as const)]}
        onChange={set('key')}
      />
      <Choice
        label="Operation"
        value={operation}
        options={EACH_OPERATION}
        onChange={set('operation')}
      />
      <Choice label="Status" value={status} options={EACH_STATUS} onChange={set('status')} />
      <button
        type="button"
        aria-pressed={isFolded}
        title="Show equal requests that follow each other as one"
        onClick={() => onChange({ fold: isFolded ? 'no' : '' })}
      >
        Fold equal
      </button>
      {isHelp && (
        <p class="muted" role="status">
          / searches, arrows, Home and End move, Enter opens, Escape closes, ? hides this.
        </p>
      )}
    </search>
  )
}

/** Saves what is shown, folded or not. */
function SaveHar({ world, rows }: PanelProps & { readonly rows: readonly Row[] }) {
  const [failure, setFailure] = useState<Failure>()
  const save = async () => {
    const body = JSON.stringify(rows.map(({ n }) => n).reverse())
    const { text, failure } = await send('POST', pathsOf(world).console('har'), body)
    setFailure(failure)
    if (text === undefined) return
    const link = document.createElement('a')
    link.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }))
    link.download = 'requests.har'
    link.click()
    URL.revokeObjectURL(link.href)
  }
  return (
    <>
      <button type="button" disabled={rows.length === 0} onClick={save}>
        Save HAR
      </button>
      {failure && <Problem failure={failure} />}
    </>
  )
}

/** Arrows, Home and End move between rows; Escape closes the one that is open. */
function moveFocus(event: KeyboardEvent, close: () => void): void {
  const target = event.target as HTMLElement
  if (event.key === 'Escape') {
    target.closest('li')?.querySelector<HTMLElement>('.row')?.focus()
    close()
    return
  }
  const rows = [...(target.closest('.rows')?.querySelectorAll<HTMLElement>('.row') ?? [])]
  const at = rows.indexOf(target)
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key]
  if (at < 0 || next === undefined) return
  event.preventDefault()
  rows[next]?.focus()
}
