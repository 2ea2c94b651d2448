import { useEffect, useRef, useState } from 'preact/hooks'
import { useLatest } from './latest.js'
import type { PanelProps } from './panel.js'
import { Marked, Panel } from './parts.js'
import { Sides } from './request-detail.js'
import { pathsOf, read } from './server.js'
import { countOf, timeOf } from './time.js'

interface Finding {
  readonly rule: string
  readonly key: string | null
  readonly seen: string
  readonly fix: string
  readonly at: number
  readonly requests: readonly number[]
  readonly allowed: boolean
}

interface Report {
  readonly ok: boolean
  readonly requests: number
  readonly dropped: number
  readonly findings: readonly Finding[]
  /** What is likely but not certain. */
  readonly notes: readonly Finding[]
}

/** What the journal of the double knows of a request. */
interface Journaled {
  readonly n: number
  readonly at: number
  readonly method: string
  readonly path: string
  readonly query: string
  readonly status: number | null
  readonly requestHeaders: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  readonly requestBody: string | null
  readonly body: string | null
}

/** Under load, ms between two readings of the report. */
const INTERVAL = 1_000

/** What the client did wrong, so far. */
export function Verdict({ live, world, revision }: PanelProps & { readonly revision: number }) {
  const [report, setReport] = useState<Report>()
  const latest = useLatest()
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const path = pathsOf(world).control('report')
  const load = () => {
    timer.current = undefined
    void latest(read<Report>(path), setReport)
  }
  useEffect(load, [path, revision])
  useEffect(() => {
    timer.current ??= setTimeout(load, INTERVAL)
  }, [live.receivedAt])
  useEffect(() => () => clearTimeout(timer.current), [])
  if (!report) return <Panel title="Verdict">{null}</Panel>

  const { findings, notes, requests, dropped } = report
  return (
    <Panel
      title="Verdict"
      actions={
        <span class="muted">
          {countOf(requests)} {requests === 1 ? 'request' : 'requests'} in the journal
          {dropped > 0 && `, ${countOf(dropped)} earlier ones dropped`}
        </span>
      }
    >
      {findings.length === 0 && (
        <p class="verdict-ok">
          {requests === 0 ? 'Nothing to judge yet.' : 'No violations: this client behaves well.'}
        </p>
      )}
      {findings.map(finding => (
        <FindingCard key={finding.rule + finding.key} finding={finding} world={world} />
      ))}
      {notes.map(note => (
        <FindingCard key={note.rule + note.key} finding={note} world={world} isNote />
      ))}
    </Panel>
  )
}

function FindingCard(props: {
  readonly finding: Finding
  readonly world: string
  readonly isNote?: boolean
}) {
  const { finding, world, isNote } = props
  const { rule, key, seen, fix, requests } = finding
  const nobody = requests.length === 0 ? 'every key' : 'without a valid key'
  const [evidence, setEvidence] = useState<readonly Journaled[]>()
  const toggle = async () => {
    if (evidence) return setEvidence(undefined)
    const path = pathsOf(world).control('requests')
    const found = await read<{ requests: readonly Journaled[] }>(path)
    setEvidence(found?.requests.filter(({ n }) => requests.includes(n)) ?? [])
  }
  return (
    <article class={`finding ${isNote ? 'likely' : ''}`}>
      <h3>
        <code>{rule}</code> <span class="muted">{key === null ? nobody : `key ${key}`}</span>
        {isNote && <span class="badge">likely</span>}
        {finding.allowed && <span class="badge">allowed</span>}
      </h3>
      <dl>
        <dt>Seen</dt>
        <dd>
          <Marked text={seen} />
        </dd>
        <dt>Fix</dt>
        <dd>
          <Marked text={fix} />
        </dd>
      </dl>
      {requests.length > 0 && (
        <button type="button" aria-expanded={evidence !== undefined} onClick={toggle}>
          {evidence ? 'Hide' : 'Show'} {requests.length}{' '}
          {requests.length === 1 ? 'request' : 'requests'}
        </button>
      )}
      {evidence && (
        <ol class="evidence">
          {evidence.map(exchange => (
            <li key={exchange.n}>
              <Evidence exchange={exchange} />
            </li>
          ))}
        </ol>
      )}
    </article>
  )
}

/** One request in a line, which opens to headers and bodies. */
function Evidence({ exchange }: { readonly exchange: Journaled }) {
  const { n, at, method, path, query, status } = exchange
  const { requestHeaders, headers, requestBody, body } = exchange
  return (
    <details>
      <summary>
        <span class="muted">#{n}</span> {timeOf(at)} {method} {path}
        {query && `?${query}`} <b>{status ?? 'never answered'}</b>
      </summary>
      <Sides request={sideOf(requestHeaders, requestBody)} response={sideOf(headers, body)} />
    </details>
  )
}

function sideOf(headers: Readonly<Record<string, string>>, body: string | null) {
  return { headers: Object.entries(headers), body: body ?? '', omitted: 0 }
}
