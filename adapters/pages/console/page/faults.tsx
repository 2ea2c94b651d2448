import type { ComponentProps } from 'preact'
import { useState } from 'preact/hooks'
import type { ArmedFault } from '../../../test-double/faults/fault.js'
import { type FaultKind, type FormField, KINDS, kindOf } from '../../../verdict/log/fault-kinds.js'
import { pathsOf, useJson } from './call-server.js'
import { Button, Choice, Field, fieldsOf, Panel, type PanelProps, useSend } from './components.js'
import { EVERY_OPERATION } from './filter.js'
import { dateOf, timeOf } from './time.js'

const DURATION = 'a duration such as 30s after arming, or an ISO instant'
const CONDITIONS: readonly ComponentProps<typeof Field>[] = [
  { label: 'Chance', name: 'chance', placeholder: '1', title: 'above 0, up to 1' },
  { label: 'From', name: 'from', placeholder: 'now', title: DURATION },
  { label: 'Until', name: 'until', placeholder: 'forever', title: DURATION },
  { label: 'Request header', name: 'header', placeholder: 'any' },
  { label: 'Header value', name: 'headerValue', placeholder: 'any' },
]

export function Faults({ live, world }: PanelProps) {
  const [kind, setKind] = useState<FaultKind>('status')
  const [send, problem] = useSend()
  const path = pathsOf(world).control('faults')
  // A request may have consumed a fault.
  const { value, reload } = useJson<{ faults: readonly ArmedFault[] }>(path, live.receivedAt)
  const run = async (method: string, fault?: object) => {
    await send(method, path, fault)
    void reload()
  }
  const keys = live.state?.keys.map(({ id }) => [id, id] as const) ?? []
  return (
    <Panel
      title="Faults"
      actions={
        <Button class="push" disabled={!value?.faults.length} onClick={() => run('DELETE')}>
          Clear all
        </Button>
      }
    >
      <form
        class="line fields"
        noValidate
        onSubmit={event => run('POST', faultOf(kind, fieldsOf(event)))}
      >
        <Choice
          label="Fault"
          value={kind}
          options={KINDS.map(kind => [kind, kindOf(kind).label])}
          onChange={setKind}
        />
        {kindOf(kind).form?.map(inputOf)}
        <Field
          label="Times"
          name="times"
          class="short"
          placeholder="1"
          title="a number, or always"
        />
        <Choice label="Operation" name="operation" options={EVERY_OPERATION} />
        <Choice label="Key" name="keyId" options={[['', 'Every key'], ...keys]} />
        <details>
          <summary>More conditions</summary>
          <div class="line fields">
            {CONDITIONS.map(field => (
              <Field key={field.name} class="short" {...field} />
            ))}
          </div>
        </details>
        <Button type="submit" class="primary">
          Arm
        </Button>
      </form>
      <div class="line">
        {PRESETS.map(([name, fault]) => (
          <Button key={name} onClick={() => run('POST', fault)}>
            {name}
          </Button>
        ))}
      </div>
      {problem}
      {live.connection === 'open' && value?.faults.length === 0 && (
        <p class="muted">No fault is armed.</p>
      )}
      <ul class="stack">
        {value?.faults.map((fault, at) => (
          <li key={at} class="line">
            <b>{kindOf(fault.kind).label}</b>
            <span class="muted fill">{detailsOf(fault)}</span>
            <span>{countOf(fault)}</span>
            <Button onClick={() => run('DELETE', fault)}>Remove</Button>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

const PRESETS: readonly (readonly [name: string, fault: object])[] = [
  ['Outage for 30 s', { kind: 'status', status: 503, until: '30s' }],
  ['Slow', { kind: 'delay', duration: '2s', real: true, times: 'always' }],
  ['Flaky, 10 %', { kind: 'status', status: 500, chance: 0.1, times: 'always' }],
  ['Lost response', { kind: 'reset' }],
]

function inputOf({ name, label, value, choices }: FormField) {
  if (choices) {
    return <Choice key={name} label={label} name={name} options={Object.entries(choices)} />
  }
  const rest = value === undefined ? { placeholder: 'none' } : { defaultValue: value }
  return <Field key={name} class="short" label={label} name={name} inputMode="numeric" {...rest} />
}

function faultOf(kind: FaultKind, fields: Partial<Record<string, string>>): object {
  const { header, headerValue, ...given } = fields
  const members = Object.entries(given).map(([name, text = '']) => {
    const isNumber = name !== 'keyId' && /^\d*\.?\d+$/.test(text)
    return [name, isNumber ? Number(text) : text]
  })
  return {
    kind,
    ...Object.fromEntries(members),
    // In real time: people would wait for a frozen clock in vain.
    ...('real' in kindOf(kind).options && { real: true }),
    ...(header && { requestHeaders: { [header]: headerValue ?? true } }),
  }
}

function detailsOf({ kind, left: _, fired: __, ...fault }: ArmedFault): string {
  const { operation = 'every operation', keyId = 'every key', requestHeaders, ...others } = fault
  const headers = Object.entries(requestHeaders ?? {}).map(([name, value]) => {
    if (typeof value === 'string') return `${name}: ${value}`
    return value ? `with ${name}` : `without ${name}`
  })
  const details = Object.entries(others).flatMap(([name, value]) => {
    if (typeof value === 'boolean') return []
    const choices = kindOf(kind).form?.find(field => field.name === name)?.choices
    if (choices) return choices[`${value}`] ?? []
    const isTime = name === 'from' || name === 'until'
    return [`${name} ${isTime ? `${dateOf(Number(value))} ${timeOf(Number(value))}` : value}`]
  })
  return [operation, keyId, ...headers, ...details].join(', ')
}

function countOf({ left, fired = 0 }: ArmedFault): string {
  const count = left === 'always' ? 'always' : `${left} left`
  return fired === 0 ? count : `${count}, ${fired} so far`
}
