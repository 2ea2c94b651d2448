import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { PET_STATUSES } from '../../../src/pets/specification.js'
import { AddAnimal } from './add-animal.js'
import { useLatest } from './latest.js'
import type { PanelProps } from './panel.js'
import { Panel } from './parts.js'
import { pathsOf, read } from './server.js'
import { countOf } from './time.js'

interface Animal {
  readonly id: number
  /** The beginning of a long one. */
  readonly name: string
  /** Digits: an int64 that a browser would round. */
  readonly categoryId: string
  readonly status?: string
}

/** Consecutive animals, ascending. */
interface Range {
  readonly animals: readonly Animal[]
  /** Whether there are others before or after. */
  readonly isPart: boolean
}

/** More than that are looked at in parts. */
const MOST = 1_000
/** While animals arrive, ms between two readings. */
const INTERVAL = 1_000
const IS_PHONE = matchMedia('(max-width: 760px)').matches

/** The animals, by status and name. What is shown is in the address. */
export function Animals({ live, world, place, go }: PanelProps) {
  const { status = '', search = '', order = 'newest', id = '' } = place.parameters
  const change = (changes: Partial<Record<string, string>>) =>
    go({ parameters: { ...place.parameters, ...changes } })
  const { range, failed, reload } = useAnimals(live, world, order === 'newest', Number(id) || 0)

  const shown = useMemo(() => {
    const text = search.toLowerCase()
    const found = range?.animals.filter(
      animal =>
        (status === '' || animal.status === status) && animal.name.toLowerCase().includes(text),
    )
    return order === 'newest' ? found?.reverse() : found
  }, [range, status, search, order])
  const isMissing = id !== '' && shown?.every(animal => animal.id !== Number(id))
  return (
    <>
      <div class="column">
        <Panel
          title="Animals"
          class="animals"
          actions={
            <>
              <span class="summary" role="status">
                {range && countsOf(range, shown?.length ?? 0)}
              </span>
              <fieldset class="segments">
                <legend class="hidden">Status</legend>
                {['', ...PET_STATUSES].map(value => (
                  <button
                    key={value}
                    type="button"
                    aria-pressed={status === value}
                    onClick={() => change({ status: value })}
                  >
                    {value || 'all'}
                  </button>
                ))}
              </fieldset>
            </>
          }
        >
          <search class="filters">
            <label class="search">
              <span>Name</span>
              <input
                type="search"
                value={search}
                placeholder="part of a name"
                onInput={event => change({ search: event.currentTarget.value })}
              />
            </label>
            <JumpTo onJump={next => change({ id: next, search: '', status: '' })} />
          </search>
          {isMissing && <p class="problem">There is no animal {id}.</p>}
          {failed && <p class="problem">The animals cannot be read now.</p>}
          {shown && shown.length > 0 && (
            <table>
              <Head
                isNewestFirst={order === 'newest'}
                onTurn={() => change({ order: order === 'newest' ? 'oldest' : '', id: '' })}
              />
              <tbody>
                {shown.map(animal => (
                  <AnimalRow key={animal.id} {...animal} isTarget={`${animal.id}` === id} />
                ))}
              </tbody>
            </table>
          )}
          {shown?.length === 0 && <p class="empty">{emptyText(status, search)}</p>}
        </Panel>
      </div>
      <aside class="column">
        <AddAnimal world={world} onAdded={reload} />
      </aside>
    </>
  )
}

/** All animals, or as many as fit: the newest, the oldest, or those from an id on. */
function useAnimals(live: PanelProps['live'], world: string, isNewest: boolean, from: number) {
  const [range, setRange] = useState<Range>()
  const [failed, setFailed] = useState(false)
  const latest = useLatest()
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const reload = () => {
    timer.current = undefined
    return latest(readAnimals(world, isNewest, from), found => {
      setFailed(found === undefined)
      if (found) setRange(found)
    })
  }
  // A planned reading is that of the view as it is by then.
  const reading = useRef(reload)
  reading.current = reload
  useEffect(() => void reload(), [world, isNewest, from])
  // An animal that a client creates appears here as well.
  const created = live.rows.find(
    ({ operation, status }) => operation === 'createPet' && status === 201,
  )
  useEffect(() => {
    if (range) timer.current ??= setTimeout(() => reading.current(), INTERVAL)
  }, [created?.n])
  useEffect(() => () => clearTimeout(timer.current), [])
  return { range, failed, reload }
}

async function readAnimals(
  world: string,
  isNewest: boolean,
  from: number,
): Promise<Range | undefined> {
  const all = await readRange(world, 0)
  if (!all?.isPart) return all
  if (from > 0) return readRange(world, Math.max(0, from - MOST / 2))
  if (!isNewest) return all
  const last = await read<{ id: number }>(pathsOf(world).console('animals/last'))
  return readRange(world, Math.max(0, (last?.id ?? 0) - MOST))
}

/** At most `MOST` animals with an id above `after`. */
async function readRange(world: string, after: number): Promise<Range | undefined> {
  const animals: Animal[] = []
  for (let more = true; more && animals.length < MOST; ) {
    const query = `after=${animals.at(-1)?.id ?? after}`
    const page = await read<{ animals: readonly Animal[]; more: boolean }>(
      pathsOf(world).console('animals', query),
    )
    if (!page) return undefined
    animals.push(...page.animals)
    more = page.more
    if (animals.length >= MOST) return { animals, isPart: more || after > 0 }
  }
  return { animals, isPart: after > 0 }
}

function countsOf({ animals, isPart }: Range, shown: number): string {
  const all = animals.length
  const count = shown === all ? countOf(all) : `${countOf(shown)} of ${countOf(all)}`
  const noun = all === 1 ? 'animal' : 'animals'
  if (!isPart) return `${count} ${noun}`
  const [first, last] = [animals[0]?.id, animals.at(-1)?.id]
  return `${count} ${noun}, from ${first} to ${last}; jump to others by id`
}

function emptyText(status: string, search: string): string {
  const which = status === '' ? 'No animals' : `No ${status} animals`
  return search === '' ? `${which}.` : `${which} have “${search}” in their name.`
}

function JumpTo({ onJump }: { readonly onJump: (id: string) => void }) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    const id = String(new FormData(event.currentTarget as HTMLFormElement).get('id')).trim()
    if (/^[1-9]\d{0,15}$/.test(id)) onJump(id)
  }
  return (
    <form class="jump" onSubmit={submit} noValidate>
      <label>
        <span>Id</span>
        <input name="id" inputMode="numeric" autoComplete="off" />
      </label>
      <button type="submit">Jump</button>
    </form>
  )
}

function Head(props: { readonly isNewestFirst: boolean; readonly onTurn: () => void }) {
  const { isNewestFirst, onTurn } = props
  return (
    <thead>
      <tr>
        <th scope="col" class="number" aria-sort={isNewestFirst ? 'descending' : 'ascending'}>
          <button
            type="button"
            title={isNewestFirst ? 'Newest first' : 'Oldest first'}
            onClick={onTurn}
          >
            Id<span aria-hidden="true">{isNewestFirst ? '↓' : '↑'}</span>
          </button>
        </th>
        <th scope="col">Name</th>
        {!IS_PHONE && (
          <th scope="col" class="number">
            Category
          </th>
        )}
        <th scope="col">Status</th>
      </tr>
    </thead>
  )
}

function AnimalRow(props: Animal & { readonly isTarget: boolean }) {
  const { id, name, categoryId, status, isTarget } = props
  const row = useRef<HTMLTableRowElement>(null)
  useEffect(() => {
    if (isTarget) row.current?.scrollIntoView({ block: 'center' })
  }, [isTarget])
  return (
    <tr ref={row} class={isTarget ? 'target' : ''}>
      <td class="number">{id}</td>
      <td class="name" title={name}>
        {name}
        {IS_PHONE && <span class="muted">category {categoryId}</span>}
      </td>
      {!IS_PHONE && <td class="number">{categoryId}</td>}
      <td>{status && <span class={`pill ${status}`}>{status}</span>}</td>
    </tr>
  )
}
