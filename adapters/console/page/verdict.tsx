import type { Listed } from '../messages.js'
import { type Finding, Marked, Panel, type PanelProps, type Report } from './parts.js'
import { hrefOf } from './place.js'
import { countOf } from './time.js'

/** What the client did wrong, so far. */
export function Verdict(props: PanelProps) {
  const { live, report } = props
  const { findings = [], notes = [], requests = 0, dropped = 0 } = report ?? {}
  const judged = `${countOf(requests)} ${requests === 1 ? 'request' : 'requests'} in the journal`
  const left = dropped > 0 ? `, ${countOf(dropped)} earlier ones dropped` : ''
  return (
    <Panel title="Verdict" actions={<span class="muted push">{judged + left}</span>}>
      {report && live.connection === 'open' && findings.length === 0 && (
        <p class="dot ok">
          {requests === 0 ? 'Nothing to judge yet.' : 'No violations: this client behaves well.'}
        </p>
      )}
      {findings.map(finding => (
        <FindingCard key={finding.rule + finding.key} {...props} finding={finding} />
      ))}
      {notes.map(note => (
        <FindingCard key={note.rule + note.key} {...props} finding={note} isNote />
      ))}
    </Panel>
  )
}

const MAX_LINKS = 8

function FindingCard(props: PanelProps & { readonly finding: Finding; readonly isNote?: boolean }) {
  const { finding, isNote, live, world } = props
  const { rule, key, seen, fix, evidence, requests, allowed } = finding
  const nobody = requests.length === 0 ? 'every key' : 'without a valid key'
  const rows = live.rows.filter(({ journal }) => journal !== null && requests.includes(journal))
  return (
    <article class={`finding ${isNote ? 'limited' : 'banned'}`}>
      <h3 class="line">
        <code>{rule}</code> <span class="muted">{key === null ? nobody : `key ${key}`}</span>
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
          {countOf(requests.length)} {requests.length === 1 ? 'request' : 'requests'}:
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

/** The rules that a request breaks. */
export function rulesOf(report: Report | undefined, { journal }: Listed): readonly string[] {
  const findings = report?.findings.filter(({ requests }) => requests.includes(journal ?? 0))
  return findings?.map(({ rule }) => rule) ?? []
}
