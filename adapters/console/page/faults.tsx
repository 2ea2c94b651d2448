import type { InputHTMLAttributes } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { FAULT_KINDS, type FaultKind, type FormField, kindOf } from '../../exchanges/fault-kinds.js'
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

const KINDS = (Object.keys(FAULT_KINDS) as FaultKind[]).map(
  kind => [kind, kindOf(kind).label] as const,
)

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
  const [kind, setKind] = useState<FaultKind>('status')
  const [operation, setOperation] = useState<(typeof OPERATIONS)[number][0]>('')
  const [key, setKey] = useState('')
  const { form: fields = [], options } = kindOf(kind)
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const text = (name: string) => String(form.get(name) ?? '').trim()
    const times = text('times')
    const header = text('header')
    void onArm({
      kind,
      ...Object.fromEntries(
        fields.flatMap(({ name, choices }) => {
          const value = text(name)
          if (value === '' || value === choices?.[0]?.[0]) return []
          return [[name, choices ? value : Number(value)]]
        }),
      ),
      // Real time: the page is for people, who would wait for a frozen clock in vain.
      ...('real' in options && { real: true }),
      ...(operation && { operation }),
      ...(key && { key }),
      ...(times && { times: /^\d+$/.test(times) ? Number(times) : times }),
      ...(text('chance') && { chance: Number(text('chance')) }),
      ...(text('from') && { from: text('from') }),
      ...(text('until') && { until: text('until') }),
      ...(header && { requestHeaders: { [header]: text('headerValue') || true } }),
    })
  }
  return (
    <form class="inline" onSubmit={submit} noValidate>
      <Choice label="Fault" value={kind} options={KINDS} onChange={setKind} />
      {fields.map(field => (
        <Field key={`${kind} ${field.name}`} {...field} />
      ))}
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

const TIMES_HINT = 'a duration such as 30s after arming, or an ISO instant'

function Field({ name, label, value, choices }: FormField) {
  if (!choices) {
    return (
      <Short
        label={label}
        name={name}
        inputMode="numeric"
        defaultValue={value}
        placeholder={value === undefined ? 'none' : undefined}
      />
    )
  }
  return (
    <label class="choice">
      <span>{label}</span>
      <select name={name}>
        {choices.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}

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
