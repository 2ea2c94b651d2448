import { useEffect, useRef } from 'preact/hooks'
import type { Finding, Report } from '../../../verdict/report.js'
import { Marked, Panel, type PanelProps } from './components.js'
import { hrefOf } from './place.js'
import { countOf } from './time.js'

export function Verdict(props: PanelProps) {
  const { live, report } = props
  const { findings = [], notes = [], requestCount = 0, dropped = 0 } = report ?? {}
  const judged = `${countOf(requestCount, 'request')} in the journal`
  const left = dropped > 0 ? `, ${countOf(dropped)} earlier ones dropped` : ''
  return (
    <Panel title="Verdict" actions={<span class="muted push">{judged + left}</span>}>
      {report && live.connection === 'open' && findings.length === 0 && (
        <p class="dot ok">
          {requestCount === 0
            ? 'Nothing to judge yet.'
            : 'No violations: this client behaves well.'}
        </p>
      )}
      {[...findings, ...notes].map((finding, at) => (
        <FindingCard key={at} {...props} finding={finding} isNote={at >= findings.length} />
      ))}
    </Panel>
  )
}

const MAX_LINKS = 8

function FindingCard(props: PanelProps & { readonly finding: Finding; readonly isNote: boolean }) {
  const { finding, isNote, live, world, place } = props
  const { rule, keyId, seen, fix, evidence, requests, allowed } = finding
  const nobody = requests.length === 0 ? 'every key' : 'without a valid key'
  const rows = live.rows.filter(({ journal }) => journal !== null && requests.includes(journal))
  const box = useRef<HTMLElement>(null)
  useEffect(() => {
    if (place.parameters['rule'] === rule) box.current?.scrollIntoView({ block: 'center' })
  }, [place.parameters['rule']])
  return (
    <article class={`box finding ${isNote ? 'limited' : 'banned'}`} ref={box}>
      <h3 class="line">
        <code>{rule}</code> <span class="muted">{keyId === null ? nobody : `key ${keyId}`}</span>
        {isNote && <span class="chip">likely</span>}
        {allowed && <span class="chip">allowed</span>}
      </h3>
      <p>
        <Marked text={seen} />
      </p>
      {evidence.map(text => (
        <p key={text} class="muted">
          {text}
        </p>
      ))}
      <p>
        <b>Fix:</b> <Marked text={fix} />
      </p>
      {rows.length > 0 && (
        <p class="line">
          {countOf(requests.length, 'request')}:
          {rows.slice(0, MAX_LINKS).map(({ n }) => (
            <a key={n} href={hrefOf({ view: 'activity', world, parameters: { request: `${n}` } })}>
              #{n}
            </a>
          ))}
          {rows.length > MAX_LINKS && '…'}
        </p>
      )}
    </article>
  )
}

/** Violated rules by the request's number in the journal. */
export function rulesByRequest(report: Report | undefined) {
  const rules = new Map<number | null, string[]>()
  for (const { rule, requests } of report?.findings ?? []) {
    for (const n of requests) rules.set(n, [...(rules.get(n) ?? []), rule])
  }
  return rules
}
