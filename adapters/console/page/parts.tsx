import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Failure } from './server.js'

/** A titled box. */
export function Panel(props: {
  readonly title: string
  readonly class?: string
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}) {
  const id = `panel-${props.title.toLowerCase().replaceAll(' ', '-')}`
  return (
    <section class={`panel ${props.class ?? ''}`} aria-labelledby={id}>
      <div class="panel-head">
        <h2 id={id}>{props.title}</h2>
        {props.actions}
      </div>
      {props.children}
    </section>
  )
}

/** Says "Copied" for a moment in place of its icon, without changing its size. */
export function CopyButton(props: { readonly text: string; readonly label: string }) {
  const [copied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(props.text)
    setCopied(true)
    setTimeout(() => setCopied(false), 1_500)
  }
  return (
    <button type="button" class="copy" aria-label={props.label} title={props.label} onClick={copy}>
      <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
        {copied ? (
          <path d="M3 8.5 6.5 12 13 4.5" />
        ) : (
          <path d="M5.5 5.500V3h7.500v7.500h-2.500M3 5.500h7.500V13H3z" />
        )}
      </svg>
      <span class="hidden" role="status">
        {copied && 'Copied'}
      </span>
    </button>
  )
}

/** A block of text to paste. */
export function Snippet(props: { readonly text: string; readonly label: string }) {
  return (
    <div class="snippet">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll what can be scrolled */}
      <pre tabIndex={0}>{props.text}</pre>
      <CopyButton {...props} />
    </div>
  )
}

/** A sentence, with what is between backticks as code. */
export function Marked({ text }: { readonly text: string }) {
  return (
    <>{text.split('`').map((part, at) => (at % 2 === 0 ? part : <code key={at}>{part}</code>))}</>
  )
}

/** What went wrong, as the API says it. */
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

export function Choice<Value extends string>(props: {
  readonly label: string
  readonly value: Value
  readonly options: readonly (readonly [value: Value, text: string])[]
  readonly onChange: (value: Value) => void
}) {
  return (
    <label class="choice">
      <span>{props.label}</span>
      <select
        value={props.value}
        onChange={event => props.onChange(event.currentTarget.value as Value)}
      >
        {props.options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}
