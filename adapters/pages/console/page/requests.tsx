import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { pathsOf } from './call-server.js'
import { Button, Choice, Field, Panel, type PanelProps, saveFile, useSend } from './components.js'
import {
  EVERY_OPERATION,
  EVERY_STATUS,
  EVERYTHING,
  type Filter,
  fits,
  type Group,
  grouped,
} from './filter.js'
import { RequestDetail } from './request-detail.js'
import { RequestRow, RowHead } from './request-row.js'
import { Commands } from './start.js'
import type { Live, Row } from './stream.js'
import { countOf } from './time.js'
import { rulesByRequest } from './verdict.js'

/** Rows at first, and per "more"; small screens get fewer, to keep what follows within reach. */
const SHOWN = matchMedia('(max-width: 760px)').matches ? 25 : 100

/** The latest requests. Filters and the open request are in the address. */
export function Requests(props: PanelProps) {
  const { live, place, go } = props
  const filter: Filter = { ...EVERYTHING, ...place.parameters }
  const open = Number(place.parameters['request']) || undefined
  const [paused, setPaused] = useState(false)
  const change = (parameters: Partial<Record<string, string>>) => go({ parameters })

  const held = useHeldRows(live.rows, paused, open)
  const rows = held.filter(row => fits(row, filter))
  const isFiltered = Object.entries(filter).some(
    ([name, value]) => name in EVERYTHING && name !== 'after' && value !== '',
  )
  const isCleared = filter.after !== ''
  const waiting = waitingFor(live.rows, held)
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
            <Button onClick={() => change(EVERYTHING)}>Show all</Button>
          )}
          {waiting > 0 && (
            <Button
              class="primary"
              onClick={() => {
                setPaused(false)
                change({ request: '' })
              }}
            >
              Show {countOf(waiting)} new
            </Button>
          )}
          <div class="line push">
            <Button aria-pressed={paused} onClick={() => setPaused(!paused)}>
              {paused ? 'Resume' : 'Pause'}
            </Button>
            <Button
              disabled={rows.length === 0}
              onClick={() => change({ after: `${live.epoch}-${live.rows[0]?.n}`, request: '' })}
            >
              Clear
            </Button>
            <SaveHar {...props} rows={rows} />
          </div>
        </>
      }
    >
      <Filters {...props} filter={filter} onChange={change} />
      <Rows {...props} held={held} rows={rows} open={open} />
      {rows.length === 0 && isFiltered && <p class="muted">No request matches these filters.</p>}
      {rows.length === 0 && !isFiltered && isCleared && <p class="muted">No requests since.</p>}
      {rows.length === 0 && !isFiltered && !isCleared && (
        <>
          <p class="muted">No requests yet. Paste a command into a terminal:</p>
          <Commands {...props} />
        </>
      )}
    </Panel>
  )
}

function Rows(
  props: PanelProps & {
    /** Includes rows that the filters exclude. */
    readonly held: readonly Row[]
    readonly rows: readonly Row[]
    readonly open: number | undefined
  },
) {
  const { live, place, report, go, held, rows, open } = props
  const [shown, setShown] = useState(SHOWN)
  const rules = useMemo(() => rulesByRequest(report), [report])
  const groups = grouped(rows, place.parameters['fold'] !== 'no')
  const visible = groups.slice(0, shown)
  const openSlot = visible.findIndex(group => group.some(({ n }) => n === open))
  const show = (n: number | '') => go({ parameters: { request: `${n}` } })
  const detail = open !== undefined && (
    <RequestDetail key={open} {...props} n={open} onOpen={show} />
  )
  const isOld = (group: Group | undefined) => group !== undefined && group[0].epoch !== live.epoch
  return (
    <>
      {openSlot < 0 && detail && <section aria-label={`Request ${open}`}>{detail}</section>}
      {groups.length > 0 && <RowHead />}
      {/* Rows keep their places and change their content, so that nothing on the page moves. */}
      <ol class="rows" aria-label="Requests" onKeyDown={event => moveFocus(event, () => show(''))}>
        {visible.map((group, slot) => (
          <li key={slot}>
            {isOld(group) && !isOld(visible[slot - 1]) && (
              <p class="divider">Before the server restarted: it no longer has these requests.</p>
            )}
            <RequestRow
              group={group}
              isOpen={slot === openSlot}
              isOld={isOld(group)}
              isStop={slot === Math.max(0, openSlot)}
              rules={rulesOf(group, rules)}
              earlier={held.slice(held.indexOf(group[0]) + 1)}
              onToggle={() => show(slot === openSlot ? '' : group[0].n)}
            />
            {slot === openSlot && detail}
          </li>
        ))}
      </ol>
      {groups.length > shown && (
        <Button onClick={() => setShown(count => count + SHOWN)}>
          Show {Math.min(SHOWN, groups.length - shown)} more
        </Button>
      )}
    </>
  )
}

function rulesOf(group: Group, rules: ReadonlyMap<number | null, readonly string[]>) {
  return [...new Set(group.flatMap(({ journal }) => rules.get(journal) ?? []))]
}

/** Holds the rows in place while someone reads, and counts new ones. */
function useHeldRows(live: readonly Row[], paused: boolean, open: number | undefined) {
  const held = useRef(live)
  const has = (rows: readonly Row[]) => rows.some(({ n }) => n === open)
  const isHeld = paused || open !== undefined
  const isBehind = open !== undefined && !has(held.current) && has(live)
  if (!isHeld || isBehind || held.current.length === 0) held.current = live
  return held.current
}

function waitingFor([newest]: readonly Row[], [held]: readonly Row[]): number {
  if (!newest) return 0
  return newest.epoch === held?.epoch ? newest.n - held.n : newest.n
}

function summaryOf({ rows, omitted }: Live, { after }: Filter, shown?: number): string {
  const { length } = rows.filter(row => fits(row, { ...EVERYTHING, after }))
  const left = omitted > 0 && after === '' ? `, ${countOf(omitted)} more not shown` : ''
  const of = shown === undefined ? '' : `${countOf(shown)} of `
  return `${of}${countOf(length, 'request')}${left}`
}

function Filters(
  props: PanelProps & {
    readonly filter: Filter
    readonly onChange: (changes: Partial<Record<string, string>>) => void
  },
) {
  const { live, place, filter, onChange } = props
  const isFolded = place.parameters['fold'] !== 'no'
  const keyIds = [...new Set(live.rows.map(({ sender }) => sender))].sort()
  const choices = [
    ['Key', 'keyId', [['', 'Every key'], ...keyIds.map(id => [id, id] as const)]],
    ['Operation', 'operation', [...EVERY_OPERATION, ['none', 'Other']]],
    ['Status', 'status', EVERY_STATUS],
  ] as const
  const box = useRef<HTMLElement>(null)
  const [isHelp, setHelp] = useState(false)
  useEffect(() => {
    const follow = (event: KeyboardEvent) => {
      if ((event.target as HTMLElement).matches('input, textarea, select')) return
      if (event.key === '?') setHelp(shown => !shown)
      if (event.key !== '/') return
      event.preventDefault()
      box.current?.querySelector('input')?.focus()
    }
    addEventListener('keydown', follow)
    return () => removeEventListener('keydown', follow)
  }, [])
  return (
    <search class="line fields" ref={box}>
      <Field
        label="Search"
        type="search"
        value={filter.search}
        placeholder="path or reason ( / )"
        title="? shows the keys"
        onInput={event => onChange({ search: event.currentTarget.value })}
      />
      {choices.map(([label, name, options]) => (
        <Choice
          key={name}
          label={label}
          value={filter[name]}
          options={options}
          onChange={value => onChange({ [name]: value })}
        />
      ))}
      <Button
        aria-pressed={isFolded}
        title="Show equal requests that follow each other as one"
        onClick={() => onChange({ fold: isFolded ? 'no' : '' })}
      >
        Fold equal
      </Button>
      {isHelp && (
        <p class="muted" role="status">
          / searches, arrows, Home and End move, Enter opens, Escape closes, ? hides this.
        </p>
      )}
    </search>
  )
}

/** Saves the shown requests, folded ones included, as far as the server still has them. */
function SaveHar({ live, world, rows }: PanelProps & { readonly rows: readonly Row[] }) {
  const [send, problem] = useSend()
  const numbers = rows.filter(({ epoch }) => epoch === live.epoch).map(({ n }) => n)
  const save = async () => {
    const text = await send('POST', pathsOf(world).console('har'), numbers.reverse())
    if (text !== undefined) saveFile('requests.har', text)
  }
  return (
    <>
      <Button disabled={numbers.length === 0} onClick={save}>
        Save HAR
      </Button>
      {problem}
    </>
  )
}

/** Arrows, Home and End move between rows; Escape closes the open one. */
function moveFocus(event: KeyboardEvent, close: () => void): void {
  const target = event.target as HTMLElement
  if (event.key === 'Escape') {
    target.closest('li')?.querySelector<HTMLElement>('.row')?.focus()
    close()
    return
  }
  const rows = [...(target.closest('.rows')?.querySelectorAll<HTMLElement>('.row:enabled') ?? [])]
  const at = rows.indexOf(target)
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key]
  if (at < 0 || next === undefined) return
  event.preventDefault()
  rows[next]?.focus()
}
