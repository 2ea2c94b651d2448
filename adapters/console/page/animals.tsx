import { useEffect, useState } from 'preact/hooks'
import { PET_STATUSES } from '../../../src/pets/specification.js'
import type { PanelProps } from './panel.js'
import { Panel, Problem } from './parts.js'
import { type Failure, pathsOf, read, send } from './server.js'

interface Animal {
  readonly id: number
  readonly name: string
  /** Digits: an int64 that a browser would round. */
  readonly categoryId: string
  readonly status?: string
}

interface Page {
  readonly animals: readonly Animal[]
  readonly more: boolean
}

export function Animals({ live, world }: PanelProps) {
  const [status, setStatus] = useState('')
  const [page, setPage] = useState<Page>({ animals: [], more: false })
  const paths = pathsOf(world)
  const load = async (after?: number) => {
    const query = new URLSearchParams({
      ...(status && { status }),
      ...(after !== undefined && { after: String(after) }),
    })
    return read<Page>(paths.console('animals', String(query)))
  }
  const reload = () => void load().then(found => found && setPage(found))
  const loadMore = async () => {
    const next = await load(page.animals.at(-1)?.id)
    if (next) setPage({ animals: [...page.animals, ...next.animals], more: next.more })
  }
  // An animal that a client creates appears here as well.
  const created = live.rows.find(
    ({ operation, status }) => operation === 'createPet' && status === 201,
  )
  useEffect(reload, [status, world, created?.n])

  return (
    <>
      <div class="column">
        <Panel
          title="Animals"
          actions={
            <fieldset class="segments">
              <legend class="hidden">Status</legend>
              {['', ...PET_STATUSES].map(value => (
                <button
                  key={value}
                  type="button"
                  aria-pressed={status === value}
                  onClick={() => setStatus(value)}
                >
                  {value || 'all'}
                </button>
              ))}
            </fieldset>
          }
        >
          <table>
            <thead>
              <tr>
                <th class="number">Id</th>
                <th>Name</th>
                <th class="number">Category</th>
                <th>Status</th>
              </tr>
            </thead>
            <tbody>
              {page.animals.map(({ id, name, categoryId, status }) => (
                <tr key={id}>
                  <td class="number">{id}</td>
                  <td class="name">{name}</td>
                  <td class="number">{categoryId}</td>
                  <td>{status && <span class={`pill ${status}`}>{status}</span>}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {page.animals.length === 0 && (
            <p class="empty">No animals{status && ` are ${status}`}.</p>
          )}
          {page.more && (
            <button type="button" class="more" onClick={loadMore}>
              Show more
            </button>
          )}
        </Panel>
      </div>
      <aside class="column">
        <AddAnimal world={world} onAdded={reload} />
      </aside>
    </>
  )
}

function AddAnimal({ world, onAdded }: { readonly world: string; readonly onAdded: () => void }) {
  const [failure, setFailure] = useState<Failure>()
  const [added, setAdded] = useState('')
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    const answer = await send('POST', pathsOf(world).console('animals'), bodyOf(new FormData(form)))
    setFailure(answer.failure)
    setAdded(answer.text ?? '')
    if (answer.failure) return
    form.reset()
    onAdded()
  }
  return (
    <Panel title="Add an animal">
      <form onSubmit={submit} noValidate>
        <label>
          <span>Name</span>
          <input name="name" autoComplete="off" />
        </label>
        <label>
          <span>Category id</span>
          <input name="categoryId" autoComplete="off" inputMode="numeric" placeholder="any int64" />
        </label>
        <label>
          <span>Status</span>
          <select name="status">
            <option value="">default</option>
            {PET_STATUSES.map(status => (
              <option key={status}>{status}</option>
            ))}
          </select>
        </label>
        <button type="submit" class="primary">
          Add animal
        </button>
        <Problem failure={failure} />
        <p class="added" role="status">
          {added && <code>{added}</code>}
        </p>
      </form>
    </Panel>
  )
}

/** JSON with the digits of the category as typed; anything but a number is sent as text, for the API to reject. */
function bodyOf(form: FormData): string {
  const text = (name: string) => String(form.get(name) ?? '')
  const category = text('categoryId').trim()
  const fields = [
    `"name":${JSON.stringify(text('name'))}`,
    ...(category === ''
      ? []
      : [
          `"categoryId":${/^-?(0|[1-9]\d*)$/.test(category) ? category : JSON.stringify(category)}`,
        ]),
    ...(text('status') === '' ? [] : [`"status":${JSON.stringify(text('status'))}`]),
  ]
  return `{${fields.join(',')}}`
}
