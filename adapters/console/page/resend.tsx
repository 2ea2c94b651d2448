import { useEffect, useRef } from 'preact/hooks'
import type { Edit, ExchangeDetail } from '../messages.js'

/** Changes a request before it is sent again. */
export function Resend(props: {
  readonly detail: ExchangeDetail
  readonly onSend: (edit: Edit) => void
  readonly onClose: () => void
}) {
  const { detail, onSend, onClose } = props
  const { method, path, query, request } = detail
  const target = query === '' ? path : `${path}?${query}`
  const headers = request.headers.map(pair => pair.join(': ')).join('\n')
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => form.current?.scrollIntoView({ block: 'nearest' }), [])
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    const fields = new FormData(event.currentTarget as HTMLFormElement)
    const text = (name: string) => String(fields.get(name)).replaceAll('\r\n', '\n')
    // What has not changed is sent as it was: the page does not show everything.
    onSend({
      ...(text('method') !== method && { method: text('method').trim() }),
      ...(text('target') !== target && { target: text('target').trim() }),
      ...(text('headers') !== headers && { headers: headersIn(text('headers')) }),
      ...(!isCut(request) && text('body') !== request.body && { body: text('body') }),
    })
  }
  return (
    <form
      ref={form}
      class="resend"
      aria-label="Edit and resend"
      noValidate
      onSubmit={submit}
      onKeyDown={event => {
        if (event.key !== 'Escape') return
        event.stopPropagation()
        onClose()
      }}
    >
      <label class="short">
        <span>Method</span>
        <input name="method" defaultValue={method} />
      </label>
      <label>
        <span>Path and query</span>
        <input name="target" defaultValue={target} />
      </label>
      <label class="wide">
        <span>Headers, one per line; a REDACTED value stays as it was</span>
        <textarea
          name="headers"
          rows={Math.min(8, request.headers.length)}
          defaultValue={headers}
        />
      </label>
      <label class="wide">
        <span>{isCut(request) ? 'Body: too long to edit here, and sent as it was' : 'Body'}</span>
        <textarea name="body" rows={4} disabled={isCut(request)} defaultValue={request.body} />
      </label>
      <div class="buttons">
        <button type="submit" class="primary">
          Send
        </button>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </div>
    </form>
  )
}

/** Also when bytes were no text: editing it would change them. */
function isCut({ body, omitted }: ExchangeDetail['request']): boolean {
  return omitted > 0 || body.includes('\ufffd')
}

function headersIn(text: string): NonNullable<Edit['headers']> {
  return text
    .split('\n')
    .filter(line => line.trim() !== '')
    .map(line => {
      const [, name = line, value = ''] = /^\s*([^:]*?)\s*:\s*(.*?)\s*$/.exec(line) ?? []
      return [name, value]
    })
}
