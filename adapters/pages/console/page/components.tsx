import type { ButtonHTMLAttributes, ComponentChildren, InputHTMLAttributes } from 'preact'
import { useState } from 'preact/hooks'
import type { Report } from '../../../verdict/report.js'
import type { Info } from '../routes.js'
import { type Failure, send } from './call-server.js'
import type { Go, Place } from './place.js'
import type { Live } from './stream.js'

export interface PanelProps {
  readonly live: Live
  /** The store's time, in ms; undefined before the first message. */
  readonly now: number | undefined
  /** Empty for the store itself, outside worlds. */
  readonly world: string
  readonly info: Info
  /** Findings about the client so far; undefined without control. */
  readonly report: Report | undefined
  /** Grows with each `refresh`. */
  readonly revision: number
  readonly refresh: () => void
  readonly place: Place
  readonly go: Go
}

export function Panel(props: {
  readonly title: string
  readonly class?: string
  readonly actions?: ComponentChildren
  readonly children?: ComponentChildren
}) {
  const id = `panel-${props.title.toLowerCase().replaceAll(' ', '-')}`
  return (
    <section class={`panel ${props.class ?? ''}`} aria-labelledby={id}>
      <div class="line panel-head">
        <h2 id={id}>{props.title}</h2>
        {props.actions}
      </div>
      {props.children}
    </section>
  )
}

export type Column<Row> = readonly [title: string, cell: (row: Row) => ComponentChildren]

/** A table whose first cell names its row. */
export function Table<Row extends { readonly id: string | number }>(props: {
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
}) {
  const [[, nameOf] = ['', () => ''], ...others] = props.columns
  return (
    <table aria-label={props.label}>
      <thead>
        <tr>
          {props.columns.map(([title]) => (
            <th key={title} scope="col">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {props.rows.map(row => (
          <tr key={row.id}>
            <th scope="row">{nameOf(row)}</th>
            {others.map(([title, cell]) => (
              <td key={title}>{cell(row)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** Sends no form unless its type is `submit`. */
export function Button(props: ButtonHTMLAttributes) {
  return <button type="button" {...props} />
}

export function Field({ label, ...input }: { readonly label: string } & InputHTMLAttributes) {
  return (
    <label class="field">
      <span>{label}</span>
      <input autoComplete="off" {...input} />
    </label>
  )
}

/** A choice controlled by `value` and `onChange`, or part of a form by its `name`. */
export function Choice<Value extends string>(props: {
  readonly label: string
  readonly options: readonly (readonly [value: Value, text: string])[]
  readonly name?: string
  readonly value?: Value
  readonly onChange?: (value: Value) => void
}) {
  const { label, options, onChange, ...select } = props
  return (
    <label class="field">
      <span>{label}</span>
      <select {...select} onChange={event => onChange?.(event.currentTarget.value as Value)}>
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}

export function fieldsOf(event: SubmitEvent): Partial<Record<string, string>> {
  event.preventDefault()
  const fields = [...new FormData(event.currentTarget as HTMLFormElement)]
  return Object.fromEntries(fields.filter(([, value]) => value !== '') as [string, string][])
}

/** Shows "Copied" for a moment in place of the icon, at the same size. */
export function CopyButton(props: { readonly text: string; readonly label: string }) {
  const [copied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(props.text)
    setCopied(true)
    setTimeout(() => setCopied(false), 1_500)
  }
  return (
    <Button class="icon" aria-label={props.label} title={props.label} onClick={copy}>
      <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
        <path d={copied ? 'M3 8.5 6.5 12 13 4.5' : 'M5.5 5.5V3H13v7.5h-2.5M3 5.5h7.5V13H3z'} />
      </svg>
      <span class="hidden" role="status">
        {copied && 'Copied'}
      </span>
    </Button>
  )
}

export function saveFile(name: string, text: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }))
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}

/** A sentence with text between backticks as code. */
export function Marked({ text }: { readonly text: string }) {
  return (
    <>{text.split('`').map((part, at) => (at % 2 === 0 ? part : <code key={at}>{part}</code>))}</>
  )
}

/** Sends commands, and shows why the latest failed, whose answer is undefined. */
export function useSend() {
  const [failure, setFailure] = useState<Failure>()
  const run = async (method: string, path: string, body?: object | string) => {
    const text = typeof body === 'object' ? JSON.stringify(body) : body
    const answer = await send(method, path, text)
    setFailure(answer.failure)
    return answer.text
  }
  return [run, <Problem failure={failure} />] as const
}

export function Problem({ failure }: { readonly failure: Failure | undefined }) {
  return (
    <p class="problem" role="alert">
      {failure && (
        <>
          <code>
            {failure.status || ''} {failure.code}
          </code>{' '}
          <Marked text={failure.message} />
        </>
      )}
    </p>
  )
}
