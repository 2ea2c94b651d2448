import { useEffect, useRef, useState } from 'preact/hooks'
import type { ExchangeDetail, Side as SideData } from '../messages.js'
import { hrefOf } from './fragment.js'
import { prettyJson } from './json-text.js'
import type { PanelProps } from './panel.js'
import { Marked, Problem } from './parts.js'
import { Resend } from './resend.js'
import { type Failure, pathsOf, send } from './server.js'
import { countOf } from './time.js'

interface Props extends PanelProps {
  readonly n: number
  /** Those that are shown as one with it, newest first. */
  readonly numbers: readonly number[]
  readonly onOpen: (n: number) => void
}

/** Why a request got its response, both bodies, the headers, and what can be done with it. */
export function RequestDetail(props: Props) {
  const { n, world } = props
  const [detail, setDetail] = useState<ExchangeDetail>()
  const [failure, setFailure] = useState<Failure>()
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => box.current?.scrollIntoView({ block: 'nearest' }), [detail])
  useEffect(() => {
    void send('GET', pathsOf(world).console(`exchanges/${n}`)).then(answer => {
      setFailure(answer.failure)
      setDetail(answer.text === undefined ? undefined : JSON.parse(answer.text))
    })
  }, [n, world])
  if (!detail) return <div class="detail">{failure && <Problem failure={failure} />}</div>

  const { code, message, hints } = detail
  return (
    <div class="detail" ref={box}>
      {(message !== null || hints.length > 0) && (
        <div class="reason">
          {message !== null && (
            <p>
              <code>{code}</code> <Marked text={message} />
            </p>
          )}
          {hints.map(hint => (
            <p key={hint} class="hint">
              <Marked text={hint} />
            </p>
          ))}
        </div>
      )}
      <Sides {...detail} />
      <Actions {...props} detail={detail} />
    </div>
  )
}

function Actions(props: Props & { readonly detail: ExchangeDetail }) {
  const { n, numbers, world, info, place, onOpen, detail } = props
  const [failure, setFailure] = useState<Failure>()
  const [done, setDone] = useState('')
  const [isEditing, setEditing] = useState(false)
  const sendAgain = async (edit: object) => {
    const path = pathsOf(world).console(`exchanges/${n}/replay`)
    const answer = await send('POST', path, JSON.stringify(edit))
    setFailure(answer.failure)
    if (answer.text !== undefined) onOpen(JSON.parse(answer.text).n)
  }
  const copy = async (name: string, text: string) => {
    await navigator.clipboard.writeText(text)
    setDone(`Copied ${name}.`)
  }
  const arm = async () => {
    const fault = faultLike(detail)
    const answer = await send('POST', pathsOf(world).control('faults'), JSON.stringify(fault))
    setFailure(answer.failure)
    const whose = detail.key === null ? '' : ` of ${detail.key}`
    setDone(answer.failure ? '' : `Armed for the next ${detail.operation}${whose}.`)
  }
  const link = new URL(hrefOf({ ...place, parameters: { request: String(n) } }), location.href).href
  return (
    <>
      <div class="detail-actions">
        <fieldset class="segments">
          <legend class="hidden">Copy as</legend>
          {(['curl', 'fetch'] as const).map(name => (
            <button
              key={name}
              type="button"
              aria-label={`Copy as ${name}`}
              onClick={() => copy(name, detail.programs[name])}
            >
              {name === 'curl' ? 'Copy as curl' : name}
            </button>
          ))}
        </fieldset>
        <button type="button" onClick={() => sendAgain({})}>
          Send again
        </button>
        <button type="button" aria-expanded={isEditing} onClick={() => setEditing(!isEditing)}>
          Edit and resend
        </button>
        {info.panels.control && detail.operation !== null && (
          <button type="button" onClick={arm}>
            {isFailure(detail) ? 'Arm a fault like this' : 'Fail the next one'}
          </button>
        )}
        <button type="button" onClick={() => copy('the link', link)}>
          Copy link
        </button>
        <span class="done" role="status">
          {done}
        </span>
        <Numbers n={n} numbers={numbers} onOpen={onOpen} />
      </div>
      {failure && <Problem failure={failure} />}
      {isEditing && <Resend detail={detail} onSend={sendAgain} onClose={() => setEditing(false)} />}
    </>
  )
}

/** Its number, and the way to its equals. */
function Numbers({ n, numbers, onOpen }: Pick<Props, 'n' | 'numbers' | 'onOpen'>) {
  const at = numbers.indexOf(n)
  const step = (name: string, sign: string, to: number | undefined) => (
    <button
      type="button"
      class="step"
      aria-label={`${name} equal request`}
      disabled={to === undefined}
      onClick={() => to !== undefined && onOpen(to)}
    >
      {sign}
    </button>
  )
  return (
    <span class="numbers">
      {numbers.length > 1 && (
        <>
          {step('Newer', '‹', numbers[at - 1])}
          {countOf(at + 1)} of {countOf(numbers.length)}
          {step('Older', '›', numbers[at + 1])}
        </>
      )}
      <span class="muted">#{n}</span>
    </span>
  )
}

function isFailure({ status, lost }: ExchangeDetail): boolean {
  return status === null || status >= 400 || lost
}

function faultLike({ operation, key, status, lost, retryAfter }: ExchangeDetail): object {
  const scope = { operation, ...(key !== null && { key }) }
  if (status === null) return { ...scope, kind: 'hang' }
  if (lost) return { ...scope, kind: 'reset' }
  if (status < 400) return { ...scope, kind: 'status', status: 503 }
  return { ...scope, kind: 'status', status, ...(retryAfter !== null && { retryAfter }) }
}

/** A request and its response: bodies first. */
export function Sides({ request, response }: Pick<ExchangeDetail, 'request' | 'response'>) {
  return (
    <div class="sides">
      <Side name="Request" side={request} />
      <Side name="Response" side={response} />
    </div>
  )
}

function Side({ name, side }: { readonly name: string; readonly side: SideData }) {
  const { headers, body, omitted } = side
  return (
    <section>
      <h3>{name}</h3>
      {body === '' ? (
        <p class="muted">No body</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll what can be scrolled
        <pre class="body" tabIndex={0}>
          {prettyJson(body)}
          {omitted > 0 && `\n… ${countOf(omitted)} more characters`}
        </pre>
      )}
      <details class="headers">
        <summary>
          {headers.length} {headers.length === 1 ? 'header' : 'headers'}
        </summary>
        <dl>
          {headers.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      </details>
    </section>
  )
}
