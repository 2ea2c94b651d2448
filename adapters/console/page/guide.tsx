import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { PanelProps } from './panel.js'
import { Panel, Snippet } from './parts.js'
import { pathsOf } from './server.js'
import type { Row } from './stream.js'

interface Step {
  readonly title: string
  /** Without what all commands have in common. */
  readonly options: readonly string[]
  readonly isDone: (row: Row) => boolean
}

const CLOSED = 'guide-closed'
/** Whoever sends more needs no guide. */
const MOST = 20

/** The first requests to send, until they are sent or someone closes it. */
export function FirstRun(props: PanelProps) {
  const [isClosed, setClosed] = useState(() => localStorage.getItem(CLOSED) !== null)
  const { isNew, rows, omitted } = props.live
  if (!isNew || isClosed || rows.length + omitted > MOST) return null
  const close = () => {
    localStorage.setItem(CLOSED, 'yes')
    setClosed(true)
  }
  return (
    <Guide
      {...props}
      title="Send the first requests"
      actions={
        <button type="button" onClick={close}>
          Close
        </button>
      }
    />
  )
}

/** Three commands to paste; each is ticked off when its request arrives. */
export function Guide(
  props: PanelProps & { readonly title: string; readonly actions?: ComponentChildren },
) {
  const { live, world, info, title, actions } = props
  const baseUrl = location.origin + pathsOf(world).api(info.basePath)
  const key = live.state?.keys.find(({ key }) => key !== null)?.key ?? '<API_KEY>'
  const done = STEPS.map(({ isDone }) => live.rows.some(isDone))
  return (
    <Panel title={title} class="guide" actions={actions}>
      <ol>
        {STEPS.map(({ title, options }, at) => (
          <li key={title} class={done[at] ? 'ticked' : ''}>
            <h3>
              {title}
              <span class="muted" role="status">
                {done[at] && 'Arrived'}
              </span>
            </h3>
            <Snippet label={`Copy the command: ${title}`} text={commandOf(baseUrl, key, options)} />
          </li>
        ))}
      </ol>
      <p class="muted">
        {done.every(Boolean)
          ? 'All three have arrived. Click on the last one in the list to see why it failed.'
          : 'Paste them into a terminal. Every request appears in the list at once.'}
      </p>
    </Panel>
  )
}

const STEPS: readonly Step[] = [
  {
    title: 'List three animals',
    options: ['/pets?limit=3'],
    isDone: ({ operation, status }) => operation === 'listPets' && status === 200,
  },
  {
    title: 'Add one, with a number that JavaScript would round',
    options: [
      '/pets',
      `-H 'Content-Type: application/json'`,
      `--data-raw '{"name":"Ada","categoryId":9223372036854775807}'`,
    ],
    isDone: ({ operation, status }) => operation === 'createPet' && status === 201,
  },
  {
    title: 'Make a mistake',
    options: ['/pets?limit=1000'],
    isDone: ({ status }) => status === 400,
  },
]

function commandOf(baseUrl: string, key: string, [target, ...options]: readonly string[]): string {
  const bearer = `-H 'Authorization: Bearer ${key}'`
  return [`curl -i '${baseUrl}${target}'`, bearer, ...options].join(' \\\n  ')
}
