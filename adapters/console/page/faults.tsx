import type { InputHTMLAttributes } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useLatest } from './latest.js'
import type { PanelProps } from './panel.js'
import { Choice, Panel, Problem } from './parts.js'
import { type Failure, pathsOf, read, send } from './server.js'
import { dateOf, timeOf } from './time.js'

interface ArmedFault {
  readonly kind: string
  readonly left: number | 'always'
  readonly operation?: string
  readonly key?: string
  readonly status?: number
  readonly when?: string
  readonly bytes?: number
  readonly ms?: number
  readonly jitter?: number
  readonly chance?: number
  readonly from?: number
  readonly until?: number
  readonly requestHeaders?: Readonly<Record<string, string | boolean>>
  readonly fired?: number
}

const KINDS = [
  ['status', 'Error status'],
  ['delay', 'Delay'],
  ['trickle', 'Slow body'],
  ['hang', 'Never answer'],
  ['reset', 'Reset the connection'],
  ['truncate', 'Cut the body off'],
  ['malformed', 'Malformed JSON'],
] as const

const TIMES_OF_FAILURE = [
  ['before', 'before the operation'],
  ['after', 'after it has run'],
] as const

const OPERATIONS = [
  ['', 'every operation'],
  ['listPets', 'listPets'],
  ['createPet', 'createPet'],
  ['getPet', 'getPet'],
] as const

/** Makes the next requests fail on purpose. */
export function Faults({ live, world, revision }: PanelProps & { readonly revision: number }) {
  const [armed, setArmed] = useState<readonly ArmedFault[]>([])
  const [failure, setFailure] = useState<Failure>()
  const path = pathsOf(world).control('faults')
  const latest = useLatest()
  const reload = () =>
    void latest(
      read<{ faults: readonly ArmedFault[] }>(path),
      found => found && setArmed(found.faults),
    )
  // A request may have used one up.
  useEffect(reload, [path, revision, live.rows[0]?.n])

  const arm = async (fault: object) => {
    setFailure((await send('POST', path, JSON.stringify(fault))).failure)
    reload()
  }
  const clear = async () => {
    setFailure((await send('DELETE', path)).failure)
    reload()
  }
  return (
    <Panel
      title="Faults"
      actions={
        <button type="button" disabled={armed.length === 0} onClick={clear}>
          Clear all
        </button>
      }
    >
      <FaultForm keys={live.state?.keys.map(({ id }) => id) ?? []} onArm={arm} />
      <Problem failure={failure} />
      {armed.length === 0 && <p class="empty">No fault is armed.</p>}
      <ul class="faults">
        {armed.map((fault, at) => (
          <li key={at}>
            <b>{nameOf(fault)}</b>
            <span class="muted">{scopeOf(fault)}</span>
            <span class="left">{countOf(fault)}</span>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function FaultForm(props: {
  readonly keys: readonly string[]
  readonly onArm: (fault: object) => Promise<void>
}) {
  const { keys, onArm } = props
  const [kind, setKind] = useState<(typeof KINDS)[number][0]>('status')
  const [operation, setOperation] = useState<(typeof OPERATIONS)[number][0]>('')
  const [key, setKey] = useState('')
  const [when, setWhen] = useState<(typeof TIMES_OF_FAILURE)[number][0]>('before')
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const number = (name: string) => Number(form.get(name))
    const text = (name: string) => String(form.get(name) ?? '').trim()
    const times = text('times')
    const header = text('header')
    void onArm({
      kind,
      ...(kind === 'status' && { status: number('status') }),
      ...(kind === 'status' && when === 'after' && { when }),
      ...(kind === 'status' && form.get('retryAfter') && { retryAfter: number('retryAfter') }),
      // Real time: the page is for people, who would wait for a frozen clock in vain.
      ...(SLOW_KINDS.includes(kind) && { ms: number('ms'), real: true }),
      ...(kind === 'delay' && text('jitter') && { jitter: number('jitter') }),
      ...(kind === 'trickle' && { bytes: number('bytes') }),
      ...(operation && { operation }),
      ...(key && { key }),
      ...(times && { times: /^\d+$/.test(times) ? Number(times) : times }),
      ...(text('chance') && { chance: number('chance') }),
      ...(text('from') && { from: text('from') }),
      ...(text('until') && { until: text('until') }),
      ...(header && { requestHeaders: { [header]: text('headerValue') || true } }),
    })
  }
  return (
    <form class="inline" onSubmit={submit} noValidate>
      <Choice label="Fault" value={kind} options={KINDS} onChange={setKind} />
      {kind === 'status' && (
        <>
          <Short label="Status" name="status" inputMode="numeric" defaultValue="503" />
          <Short label="Retry-After, s" name="retryAfter" inputMode="numeric" placeholder="none" />
          <Choice label="When" value={when} options={TIMES_OF_FAILURE} onChange={setWhen} />
        </>
      )}
      {kind === 'trickle' && (
        <Short label="Bytes" name="bytes" inputMode="numeric" defaultValue="16" />
      )}
      {SLOW_KINDS.includes(kind) && (
        <Short label="Milliseconds" name="ms" inputMode="numeric" defaultValue="1000" />
      )}
      {kind === 'delay' && (
        <Short label="Jitter, ms" name="jitter" inputMode="numeric" placeholder="none" />
      )}
      <Choice label="Operation" value={operation} options={OPERATIONS} onChange={setOperation} />
      <Choice
        label="Key"
        value={key}
        options={[['', 'every key'], ...keys.map(id => [id, id] as const)]}
        onChange={setKey}
      />
      <Short label="Times" name="times" placeholder="1" title="a number, or always" />
      <details class="conditions">
        <summary>More conditions</summary>
        <div>
          <Short label="Chance" name="chance" placeholder="1" title="above 0, up to 1" />
          <Short label="From" name="from" placeholder="now" title={TIMES_HINT} />
          <Short label="Until" name="until" placeholder="forever" title={TIMES_HINT} />
          <Short label="Request header" name="header" placeholder="any" />
          <Short label="Header value" name="headerValue" placeholder="any" />
        </div>
      </details>
      <button type="submit" class="primary">
        Arm
      </button>
    </form>
  )
}

/** Faults that take time. */
const SLOW_KINDS = ['delay', 'trickle']

const TIMES_HINT = 'a duration such as 30s after arming, or an ISO instant'

function Short({ label, ...input }: { readonly label: string } & InputHTMLAttributes) {
  return (
    <label class="short">
      <span>{label}</span>
      <input {...input} />
    </label>
  )
}

function nameOf({ kind, status, when, bytes, ms, jitter }: ArmedFault): string {
  const name = KINDS.find(([known]) => known === kind)?.[1] ?? kind
  if (status !== undefined)
    return `${name} ${status}${when === 'after' ? ', after it has run' : ''}`
  if (bytes !== undefined)
    return `${name}, ${bytes} ${bytes === 1 ? 'byte' : 'bytes'} every ${ms} ms`
  if (ms === undefined) return name
  return `${name} ${jitter ? `${ms} to ${ms + jitter}` : ms} ms`
}

function scopeOf(fault: ArmedFault): string {
  const { operation, key, chance, from, until, requestHeaders } = fault
  const parts = [
    operation ?? 'every operation',
    key ?? 'every key',
    ...Object.entries(requestHeaders ?? {}).map(headerText),
    chance !== undefined && `chance ${chance}`,
    from !== undefined && `from ${dateOf(from)} ${timeOf(from)}`,
    until !== undefined && `until ${dateOf(until)} ${timeOf(until)}`,
  ]
  return parts.filter(Boolean).join(', ')
}

function headerText([name, value]: [string, string | boolean]): string {
  if (typeof value === 'string') return `${name}: ${value}`
  return value ? `with ${name}` : `without ${name}`
}

function countOf({ left, fired = 0 }: ArmedFault): string {
  const count = left === 'always' ? 'always' : `${left} left`
  return fired === 0 ? count : `${count}, ${fired} so far`
}
