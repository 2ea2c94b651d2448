import { useEffect, useRef, useState } from 'preact/hooks'
import { printable } from '../../../../src/lib/printable.js'
import type { ExchangeDetail, Side as SideData } from '../exchange-detail.js'
import type { Edit } from '../resend.js'
import { pathsOf, useJson } from './call-server.js'
import {
  Button,
  type Column,
  Field,
  Marked,
  type PanelProps,
  Problem,
  Table,
  useSend,
} from './components.js'
import { targetOf } from './filter.js'
import { hrefOf } from './place.js'
import { countOf } from './time.js'
import { rulesByRequest } from './verdict.js'

interface Props extends PanelProps {
  readonly n: number
  readonly onOpen: (n: number) => void
}

export function RequestDetail(props: Props) {
  const box = useRef<HTMLDivElement>(null)
  const path = pathsOf(props.world).console(`exchanges/${props.n}`)
  const { value: detail, failure } = useJson<ExchangeDetail>(path)
  useEffect(() => box.current?.scrollIntoView({ block: 'nearest' }), [detail])
  if (!detail) return <div class="detail">{failure && <Problem failure={failure} />}</div>

  const { code, message, hints, address, connection } = detail
  const rules = rulesByRequest(props.report).get(detail.journal) ?? []
  const sender = [
    `#${props.n}`,
    address && `from ${address}`,
    connection && `connection ${connection}`,
  ]
  return (
    <div class="detail stack" ref={box}>
      {(message !== null || hints.length > 0 || rules.length > 0) && (
        <div class="box">
          {message !== null && (
            <p>
              <code class="problem">{code}</code> <Marked text={message} />
            </p>
          )}
          {hints.map(hint => (
            <p key={hint}>
              → <Marked text={hint} />
            </p>
          ))}
          {rules.map(rule => (
            <p key={rule}>
              Verdict:{' '}
              <a href={hrefOf({ view: 'test', world: props.world, parameters: { rule } })}>
                {rule}
              </a>
            </p>
          ))}
        </div>
      )}
      <div class="sides">
        <Side name="Request" note={sender.filter(Boolean).join(', ')} side={detail.request} />
        <Side name="Response" side={detail.response} />
      </div>
      <Actions {...props} detail={detail} />
    </div>
  )
}

const HEADERS: readonly Column<{ readonly id: string; readonly value: string }>[] = [
  ['Header', ({ id }) => id],
  ['Value', ({ value }) => <code class="wrap">{value}</code>],
]

function Side(props: { readonly name: string; readonly note?: string; readonly side: SideData }) {
  const { name, note, side } = props
  const { headers, body, omitted } = side
  return (
    <section>
      <h3>
        {name} <span class="muted">{note}</span>
      </h3>
      {body === '' ? (
        <p class="muted">No body</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll what can be scrolled
        <pre class="box" tabIndex={0}>
          {prettyJson(body).split('\n').map(printable).join('\n')}
          {omitted > 0 && `\n… ${countOf(omitted)} more characters`}
        </pre>
      )}
      <details>
        <summary>{countOf(headers.length, 'header')}</summary>
        <Table
          label={`Headers of the ${name.toLowerCase()}`}
          columns={HEADERS}
          rows={headers.map(([id, value]) => ({ id, value }))}
        />
      </details>
    </section>
  )
}

/** Keeps every digit of numbers, if the browser has `JSON.rawJSON`; other text stays as it is. */
function prettyJson(text: string): string {
  const { parse, rawJSON } = JSON as unknown as {
    parse(
      text: string,
      revive: (name: string, value: unknown, at: { source: string }) => unknown,
    ): unknown
    rawJSON?(source: string): unknown
  }
  if (!rawJSON) return text
  try {
    const exact = (_: string, value: unknown, at: { source: string }) =>
      typeof value === 'number' ? rawJSON(at.source) : value
    return JSON.stringify(parse(text, exact), null, 2)
  } catch {
    return text
  }
}

function Actions(props: Props & { readonly detail: ExchangeDetail }) {
  const { n, world, info, place, onOpen, detail } = props
  const [send, problem] = useSend()
  const [done, setDone] = useState('')
  const [isEditing, setEditing] = useState(false)
  const sendAgain = async (edit: Edit) => {
    const path = pathsOf(world).console(`exchanges/${n}/resend`)
    const text = await send('POST', path, edit)
    if (text !== undefined) onOpen(JSON.parse(text).n)
  }
  const copy = async (name: string, text: string) => {
    await navigator.clipboard.writeText(text)
    setDone(`Copied ${name}.`)
  }
  const arm = async () => {
    const armed = await send('POST', pathsOf(world).control('faults'), faultLike(detail))
    const whose = detail.keyId === null ? '' : ` of ${detail.keyId}`
    setDone(armed === undefined ? '' : `Armed for the next ${detail.operation}${whose}.`)
  }
  const link = new URL(hrefOf({ ...place, parameters: { request: `${n}` } }), location.href).href
  const actions: readonly (readonly [name: string, run: () => unknown])[] = [
    ['Copy as curl', () => copy('curl', detail.programs.curl)],
    ['Copy as fetch', () => copy('fetch', detail.programs.fetch)],
    ['Copy link', () => copy('the link', link)],
    ['Send again', () => sendAgain({})],
    ['Edit and resend', () => setEditing(!isEditing)],
  ]
  const isFailure = detail.status === null || detail.status >= 400 || detail.lost
  return (
    <>
      <div class="line">
        {actions.map(([name, run]) => (
          <Button key={name} onClick={run}>
            {name}
          </Button>
        ))}
        {info.panels.control && detail.operation !== null && (
          <Button onClick={arm}>{isFailure ? 'Arm a fault like this' : 'Fail the next one'}</Button>
        )}
        <span class="done" role="status">
          {done}
        </span>
      </div>
      {problem}
      {isEditing && <Resend detail={detail} onSend={sendAgain} />}
    </>
  )
}

function faultLike({ operation, keyId, status, lost, retryAfter }: ExchangeDetail): object {
  const scope = { operation, ...(keyId !== null && { keyId }) }
  if (status === null) return { ...scope, kind: 'hang' }
  if (lost) return { ...scope, kind: 'reset' }
  if (status < 400) return { ...scope, kind: 'status', status: 503 }
  return { ...scope, kind: 'status', status, ...(retryAfter !== null && { retryAfter }) }
}

function Resend(props: { readonly detail: ExchangeDetail; readonly onSend: (edit: Edit) => void }) {
  const { detail, onSend } = props
  const { method, request } = detail
  const target = targetOf(detail)
  const headers = request.headers.map(pair => pair.join(': ')).join('\n')
  // Bytes that are not text would be changed by editing.
  const isCut = request.omitted > 0 || request.body.includes('\ufffd')
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => form.current?.scrollIntoView({ block: 'nearest' }), [])
  const [problem, setProblem] = useState('')
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    const fields = new FormData(event.currentTarget as HTMLFormElement)
    const text = (name: string) => String(fields.get(name)).replaceAll('\r\n', '\n')
    const wrong = linesOf(text('headers')).find(line => !line.includes(':'))
    setProblem(
      wrong === undefined ? '' : `The header \`${wrong}\` has no colon: write \`Name: value\`.`,
    )
    if (wrong !== undefined) return
    // Unchanged parts are omitted, as the page does not show everything.
    onSend({
      ...(text('method') !== method && { method: text('method').trim() }),
      ...(text('target') !== target && { target: text('target').trim() }),
      ...(text('headers') !== headers && { headers: headersIn(text('headers')) }),
      ...(!isCut && text('body') !== request.body && { body: text('body') }),
    })
  }
  return (
    <form class="stack" aria-label="Edit and resend" noValidate onSubmit={submit} ref={form}>
      <div class="line fields">
        <Field label="Method" name="method" class="short" defaultValue={method} />
        <Field label="Path and query" name="target" defaultValue={target} />
      </div>
      <label class="field">
        <span>Headers, one per line; a REDACTED value stays as it was</span>
        <textarea
          name="headers"
          rows={Math.min(8, request.headers.length)}
          defaultValue={headers}
        />
      </label>
      <label class="field">
        <span>{isCut ? 'Body: too long to edit here, and sent as it was' : 'Body'}</span>
        <textarea name="body" rows={4} disabled={isCut} defaultValue={request.body} />
      </label>
      <Button type="submit" class="primary">
        Send
      </Button>
      <p class="problem" role="alert">
        <Marked text={problem} />
      </p>
    </form>
  )
}

function linesOf(text: string): string[] {
  return text.split('\n').filter(line => line.trim() !== '')
}

function headersIn(text: string): [name: string, value: string][] {
  return linesOf(text).map(line => {
    const [, name = line, value = ''] = /^\s*([^:]*?)\s*:\s*(.*?)\s*$/.exec(line) ?? []
    return [name, value]
  })
}
