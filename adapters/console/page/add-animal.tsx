import { useState } from 'preact/hooks'
import { PET_STATUSES } from '../../../src/pets/specification.js'
import { Panel, Problem } from './parts.js'
import { type Failure, pathsOf, send } from './server.js'

/** A form for a new animal; errors are those of the API. */
export function AddAnimal(props: { readonly world: string; readonly onAdded: () => void }) {
  const { world, onAdded } = props
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
