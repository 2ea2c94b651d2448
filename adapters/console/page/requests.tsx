import { useEffect, useRef, useState } from 'preact/hooks'
import {
  EVERYTHING,
  type Filter,
  filterOf,
  fits,
  folded,
  type Group,
  NO_KEY,
  OPERATIONS,
  STATUSES,
} from './filter.js'
import type { PanelProps } from './panel.js'
import { Choice, Panel, Problem } from './parts.js'
import { RequestDetail } from './request-detail.js'
import { RequestRow, RowHead } from './request-row.js'
import { type Failure, pathsOf, read, send } from './server.js'
import type { Row } from './stream.js'
import { countOf } from './time.js'

/** Rows at first, and with each "more"; what follows below should not be far on a small screen. */
const SHOWN = matchMedia('(max-width: 760px)').matches ? 25 : 100

/** The latest requests. What is shown, and which request is open, is in the address. */
export function Requests(props: PanelProps) {
  const { live, world, place, go } = props
  const filter = filterOf(place)
  const given = place.parameters['request'] ?? ''
  const open = /^\d+$/.test(given) ? Number(given) : undefined
  const isFolded = place.parameters['fold'] !== 'no'
  const [paused, setPaused] = useState(false)
  const [shown, setShown] = useState(SHOWN)
  const list = useRef<HTMLOListElement>(null)
  const change = (changes: Partial<Record<string, string>>) =>
    go({ parameters: { ...place.parameters, ...changes } })

  const found = useFound(filter.search, world, live.receivedAt)
  const held = useHeldRows(live.rows, paused, open)
  const rows = held.filter(row => fits(row, filter, found))
  const groups = isFolded ? folded(rows) : rows.map(row => ({ row, numbers: [row.n] }))
  const visible = groups.slice(0, shown)
  const isListed = visible.some(({ numbers }) => numbers.includes(open ?? 0))
  const isFiltered = Object.values(filter).some(value => value !== '')
  const waiting = (live.rows[0]?.n ?? 0) - (held[0]?.n ?? 0)
  // Rows keep their places and change their content, so that nothing on the page moves.
  const item = ({ row, numbers }: Group, slot: number) => {
    const isOpen = numbers.includes(open ?? 0)
    return (
      <li key={slot}>
        <RequestRow
          group={{ row, numbers }}
          isOpen={isOpen}
          onToggle={() => change({ request: isOpen ? '' : `${row.n}` })}
        />
        {isOpen && detail(open ?? 0, numbers)}
      </li>
    )
  }
  const detail = (n: number, numbers: readonly number[]) => (
    <RequestDetail
      key={n}
      {...props}
      n={n}
      numbers={numbers}
      onOpen={n => change({ request: `${n}` })}
    />
  )
  return (
    <Panel
      title="Requests"
      class="requests"
      actions={
        <>
          <Summary live={live} shown={isFiltered ? rows.length : undefined} />
          {isFiltered && (
            <button type="button" class="small" onClick={() => change({ ...EVERYTHING })}>
              Show all
            </button>
          )}
          {waiting > 0 && (
            <button
              type="button"
              class="small waiting"
              onClick={() => {
                setPaused(false)
                change({ request: '' })
              }}
            >
              Show {countOf(waiting)} new
            </button>
          )}
          <div class="buttons">
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
            <Export world={world} rows={rows} />
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
      {open !== undefined && !isListed && (
        <section class="pinned" aria-label={`Request ${open}`}>
          {detail(open, [open])}
        </section>
      )}
      {groups.length > 0 && (
        <>
          <SkipLink list={list} />
          <RowHead />
        </>
      )}
      <ol
        class="list rows"
        ref={list}
        aria-label="Requests"
        onKeyDown={event => moveFocus(event, () => change({ request: '' }))}
      >
        {visible.map(item)}
      </ol>
      {groups.length === 0 && <Nothing isFiltered={live.rows.length > 0} />}
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

const NONE: ReadonlySet<number> = new Set()

/** The numbers of the requests whose bodies contain a text, which only the server knows. */
function useFound(text: string, world: string, receivedAt: number): ReadonlySet<number> {
  const path = pathsOf(world).console('exchanges', `text=${encodeURIComponent(text)}`)
  // With its question, as an answer may come after the next one was asked.
  const [found, setFound] = useState({ path: '', question: 0, numbers: NONE })
  const questions = useRef(0)
  const second = Math.floor(receivedAt / 1_000)
  useEffect(() => {
    if (text === '') return undefined
    const timer = setTimeout(async () => {
      const question = ++questions.current
      const answer = await read<{ matches: readonly number[] }>(path)
      const next = { path, question, numbers: new Set(answer?.matches) }
      setFound(shown => (shown.question < question ? next : shown))
    }, 200)
    return () => clearTimeout(timer)
  }, [text, path, second])
  return found.path === path ? found.numbers : NONE
}

function Filters(props: {
  readonly filter: Filter
  readonly keys: readonly string[]
  readonly isFolded: boolean
  readonly onChange: (changes: Partial<Record<string, string>>) => void
}) {
  const { filter, keys, isFolded, onChange } = props
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      const { tagName } = event.target as HTMLElement
      if (event.key !== '/' || /^(INPUT|TEXTAREA|SELECT)$/.test(tagName)) return
      event.preventDefault()
      input.current?.focus()
    }
    addEventListener('keydown', focus)
    return () => removeEventListener('keydown', focus)
  }, [])
  return (
    <search class="filters">
      <label class="search">
        <span>Search</span>
        <input
          ref={input}
          type="search"
          value={filter.search}
          placeholder="path, message or body ( / )"
          onInput={event => onChange({ search: event.currentTarget.value })}
        />
      </label>
      <Choice
        label="Key"
        value={filter.key}
        options={[['', 'All keys'], ...keys.map(key => [key, key] as const)]}
        onChange={key => onChange({ key })}
      />
      <Choice
        label="Operation"
        value={filter.operation}
        options={OPERATIONS}
        onChange={operation => onChange({ operation })}
      />
      <Choice
        label="Status"
        value={filter.status}
        options={STATUSES}
        onChange={status => onChange({ status })}
      />
      <button
        type="button"
        aria-pressed={isFolded}
        title="Show equal requests that follow each other as one"
        onClick={() => onChange({ fold: isFolded ? 'no' : '' })}
      >
        Fold equal
      </button>
    </search>
  )
}

/** Saves what is shown, folded or not. */
function Export({ world, rows }: { readonly world: string; readonly rows: readonly Row[] }) {
  const [failure, setFailure] = useState<Failure>()
  const [note, setNote] = useState('')
  const save = async (format: 'har' | 'json') => {
    const body = JSON.stringify({ format, numbers: rows.map(({ n }) => n).reverse() })
    const answer = await send('POST', pathsOf(world).console('export'), body)
    setFailure(answer.failure)
    if (answer.text === undefined) return
    const { log, exchanges } = JSON.parse(answer.text)
    const saved = (log?.entries ?? exchanges).length
    setNote(saved < rows.length ? `${saved} saved, the others are no longer kept` : '')
    const link = document.createElement('a')
    link.href = URL.createObjectURL(new Blob([answer.text], { type: 'application/json' }))
    link.download = `requests.${format}`
    link.click()
    URL.revokeObjectURL(link.href)
  }
  return (
    <>
      {(['har', 'json'] as const).map(format => (
        <button
          key={format}
          type="button"
          disabled={rows.length === 0}
          title={`Save the requests shown as ${format.toUpperCase()}`}
          onClick={() => save(format)}
        >
          <span class="hidden">Save as </span>
          {format.toUpperCase()}
        </button>
      ))}
      <span class="muted" role="status">
        {note}
      </span>
      {failure && <Problem failure={failure} />}
    </>
  )
}

function Summary(props: {
  readonly live: PanelProps['live']
  /** Undefined for all. */
  readonly shown: number | undefined
}) {
  const { live, shown } = props
  const count = live.rows.length
  const left = live.omitted > 0 ? `, ${countOf(live.omitted)} more not shown` : ''
  const all = `${countOf(count)} ${count === 1 ? 'request' : 'requests'}${left}`
  return <span class="summary">{shown === undefined ? all : `${countOf(shown)} of ${all}`}</span>
}

/** For keyboards: the first stop before many. */
function SkipLink({ list }: { readonly list: { readonly current: HTMLElement | null } }) {
  const skip = () => {
    const stops = [...document.querySelectorAll<HTMLElement>('button, a, input, select')]
    const after = stops.find(
      stop =>
        list.current &&
        list.current.compareDocumentPosition(stop) & Node.DOCUMENT_POSITION_FOLLOWING &&
        !list.current.contains(stop),
    )
    after?.focus()
  }
  return (
    <button type="button" class="skip" onClick={skip}>
      Skip the requests
    </button>
  )
}

function Nothing({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered) return <p class="empty">No request matches these filters.</p>
  return <p class="empty">No requests yet.</p>
}

/** Arrows, Home and End move between rows; Escape closes the one that is open. */
function moveFocus(event: KeyboardEvent, close: () => void): void {
  const target = event.target as HTMLElement
  const list = target.closest('.list')
  const rows = [...(list?.querySelectorAll<HTMLElement>('.row') ?? [])]
  const at = rows.indexOf(target)
  if (event.key === 'Escape') {
    target.closest('li')?.querySelector<HTMLElement>('.row')?.focus()
    close()
    return
  }
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key]
  if (at < 0 || next === undefined) return
  event.preventDefault()
  rows[next]?.focus()
}
