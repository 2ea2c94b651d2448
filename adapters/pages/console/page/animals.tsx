import { useState } from 'preact/hooks'
import { printable } from '../../../../src/lib/printable.js'
import { PET_STATUSES } from '../../../../src/pets/specification.js'
import type { Animal, Animals as AnimalList } from '../routes.js'
import { pathsOf, useJson } from './call-server.js'
import {
  Button,
  Choice,
  type Column,
  Field,
  fieldsOf,
  Panel,
  type PanelProps,
  Problem,
  Table,
  useSend,
} from './components.js'
import { countOf } from './time.js'

const STATUSES = PET_STATUSES.map(status => [status, status] as const)

const COLUMNS: readonly Column<Animal>[] = [
  ['Id', ({ id }) => id],
  ['Name', ({ name }) => <span class="wrap">{printable(name)}</span>],
  ['Category', ({ categoryId }) => <code class="wrap">{categoryId}</code>],
  ['Status', ({ status }) => status && <span class={`dot ${TONES[status]}`}>{status}</span>],
]
const TONES: Partial<Record<string, string>> = { available: 'ok', pending: 'limited' }

/** The newest animals, or those from an id on. The filters are in the address. */
export function Animals({ live, world, place, go }: PanelProps) {
  const { status = '', search = '', from = '' } = place.parameters
  const change = (parameters: Partial<Record<string, string>>) => go({ parameters })
  // Shows an animal that a client creates, too.
  const created = live.rows.find(row => row.operation === 'createPet' && row.status === 201)
  const path = pathsOf(world).console('animals', `from=${encodeURIComponent(from)}`)
  const { value, failure, reload } = useJson<AnimalList>(path, created?.n)
  const { animals = [], more = false } = value ?? {}
  const isAll = !more && from === ''
  const found = animals.filter(
    animal =>
      (status === '' || animal.status === status) &&
      animal.name.toLowerCase().includes(search.toLowerCase()),
  )
  const next = (animals.at(-1)?.id ?? 0) + 1
  return (
    <>
      <div class="column">
        <Panel
          title="Animals"
          actions={
            <span class="muted" role="status">
              {value && countsOf(found.length, animals.length, isAll)}
            </span>
          }
        >
          <search class="line fields">
            <Field
              label="Name"
              type="search"
              value={search}
              placeholder="part of a name"
              onInput={event => change({ search: event.currentTarget.value })}
            />
            <Choice
              label="Status"
              value={status}
              options={[['', 'Every status'], ...STATUSES]}
              onChange={status => change({ status })}
            />
            <Field
              label="From id"
              class="short"
              inputMode="numeric"
              value={from}
              onInput={event => change({ from: event.currentTarget.value.replace(/\D/g, '') })}
            />
            {more && <Button onClick={() => change({ from: `${next}` })}>Next</Button>}
          </search>
          <Problem failure={failure} />
          {found.length > 0 && (
            <Table label="Animals" columns={COLUMNS} rows={isAll ? found.toReversed() : found} />
          )}
          {value && found.length === 0 && <p class="muted empty">No such animals.</p>}
        </Panel>
      </div>
      <aside class="column">
        <AddAnimal world={world} onAdded={reload} />
      </aside>
    </>
  )
}

function countsOf(shown: number, all: number, isAll: boolean): string {
  const count = `${shown === all ? '' : `${countOf(shown)} of `}${countOf(all, 'animal')}`
  return isAll ? count : `${count} from this id on`
}

function AddAnimal(props: { readonly world: string; readonly onAdded: () => void }) {
  const { world, onAdded } = props
  const [send, problem] = useSend()
  const [added, setAdded] = useState('')
  const submit = async (event: SubmitEvent) => {
    const form = event.currentTarget as HTMLFormElement
    const text = await send('POST', pathsOf(world).console('animals'), bodyOf(fieldsOf(event)))
    setAdded(text ?? '')
    if (text === undefined) return
    form.reset()
    onAdded()
  }
  return (
    <Panel title="Add an animal">
      <form class="stack" onSubmit={submit} noValidate>
        <Field label="Name" name="name" />
        <Field label="Category id" name="categoryId" inputMode="numeric" placeholder="any int64" />
        <Choice label="Status" name="status" options={[['', 'default'], ...STATUSES]} />
        <Button type="submit" class="primary">
          Add animal
        </Button>
        {problem}
        <p class="done" role="status">
          {added && <code>{added}</code>}
        </p>
      </form>
    </Panel>
  )
}

/** Keeps the digits of the category. The API rejects anything but a number, sent as text. */
function bodyOf(fields: Partial<Record<string, string>>): string {
  const members = Object.entries(fields).map(([name, text = '']) => {
    const isNumber = name === 'categoryId' && /^-?(0|[1-9]\d*)$/.test(text.trim())
    return `${JSON.stringify(name)}:${isNumber ? text.trim() : JSON.stringify(text)}`
  })
  return `{${members.join(',')}}`
}
