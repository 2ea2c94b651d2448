import { useEffect, useState } from 'preact/hooks'
import type { ExchangeDetail } from '../messages.js'
import { Problem } from './parts.js'
import { type Failure, pathsOf, send } from './server.js'

/** Headers and bodies of both sides, and what can be done with the request. */
export function RequestDetail({ n, world }: { readonly n: number; readonly world: string }) {
  const [detail, setDetail] = useState<ExchangeDetail>()
  const [failure, setFailure] = useState<Failure>()
  const [copied, setCopied] = useState(false)
  const paths = pathsOf(world)
  useEffect(() => {
    void send('GET', paths.console(`exchanges/${n}`)).then(answer => {
      setFailure(answer.failure)
      setDetail(answer.text === undefined ? undefined : JSON.parse(answer.text))
    })
  }, [n, world])
  if (!detail) return <div class="detail">{failure && <Problem failure={failure} />}</div>

  const copy = async () => {
    await navigator.clipboard.writeText(detail.curl)
    setCopied(true)
    setTimeout(() => setCopied(false), 1_500)
  }
  const sendAgain = async () => {
    setFailure((await send('POST', paths.console(`exchanges/${n}/replay`))).failure)
  }
  return (
    <div class="detail">
      <div class="detail-actions">
        <button type="button" onClick={copy}>
          {copied ? 'Copied' : 'Copy as curl'}
        </button>
        <button type="button" onClick={sendAgain}>
          Send again
        </button>
        {failure && <Problem failure={failure} />}
      </div>
      <Sides {...detail} />
    </div>
  )
}

/** Headers and bodies of a request and its response. */
export function Sides({ request, response }: Pick<ExchangeDetail, 'request' | 'response'>) {
  return (
    <div class="sides">
      <Side name="Request" side={request} />
      <Side name="Response" side={response} />
    </div>
  )
}

function Side(props: { readonly name: string; readonly side: ExchangeDetail['request'] }) {
  const { headers, body, omitted } = props.side
  return (
    <section>
      <h3>{props.name}</h3>
      <dl class="headers">
        {headers.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {body === '' ? (
        <p class="muted">No body</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll what can be scrolled
        <pre class="body" tabIndex={0}>
          {body}
          {omitted > 0 && `\n… ${omitted} more characters`}
        </pre>
      )}
    </section>
  )
}
