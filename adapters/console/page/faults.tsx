import { useEffect, useState } from 'preact/hooks'
import type { PanelProps } from './panel.js'
import { Choice, Panel, Problem } from './parts.js'
import { type Failure, pathsOf, read, send } from './server.js'

interface ArmedFault {
  readonly kind: string
  readonly left: number | 'always'
  readonly operation?: string
  readonly key?: string
  readonly status?: number
  readonly when?: string
  readonly ms?: number
}

const KINDS = [
  ['status', 'Error status'],
  ['delay', 'Delay'],
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
  const reload = () =>
    void read<{ faults: readonly ArmedFault[] }>(path).then(
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
            <span class="muted">
              {fault.operation ?? 'every operation'}, {fault.key ?? 'every key'}
            </span>
            <span class="left">{fault.left === 'always' ? 'always' : `${fault.left} left`}</span>
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
    const times = String(form.get('times')).trim()
    void onArm({
      kind,
      ...(kind === 'status' && { status: number('status') }),
      ...(kind === 'status' && when === 'after' && { when }),
      ...(kind === 'status' && form.get('retryAfter') && { retryAfter: number('retryAfter') }),
      // Real time: the page is for people, who would wait for a frozen clock in vain.
      ...(kind === 'delay' && { ms: number('ms'), real: true }),
      ...(operation && { operation }),
      ...(key && { key }),
      times: /^\d+$/.test(times) ? Number(times) : times,
    })
  }
  return (
    <form class="inline" onSubmit={submit} noValidate>
      <Choice label="Fault" value={kind} options={KINDS} onChange={setKind} />
      {kind === 'status' && (
        <>
          <label class="short">
            <span>Status</span>
            <input name="status" inputMode="numeric" defaultValue="503" />
          </label>
          <label class="short">
            <span>Retry-After, s</span>
            <input name="retryAfter" inputMode="numeric" placeholder="none" />
          </label>
          <Choice label="When" value={when} options={TIMES_OF_FAILURE} onChange={setWhen} />
        </>
      )}
      {kind === 'delay' && (
        <label class="short">
          <span>Milliseconds</span>
          <input name="ms" inputMode="numeric" defaultValue="1000" />
        </label>
      )}
      <Choice label="Operation" value={operation} options={OPERATIONS} onChange={setOperation} />
      <Choice
        label="Key"
        value={key}
        options={[['', 'every key'], ...keys.map(id => [id, id] as const)]}
        onChange={setKey}
      />
      <label class="short">
        <span>Times</span>
        <input name="times" defaultValue="1" title="a number, or always" />
      </label>
      <button type="submit" class="primary">
        Arm
      </button>
    </form>
  )
}

function nameOf({ kind, status, when, ms }: ArmedFault): string {
  const name = KINDS.find(([known]) => known === kind)?.[1] ?? kind
  if (status !== undefined)
    return `${name} ${status}${when === 'after' ? ', after it has run' : ''}`
  return ms === undefined ? name : `${name} ${ms} ms`
}
