import type { KeyState } from '../world-state.js'
import { pathsOf } from './call-server.js'
import { CopyButton, Panel, type PanelProps, Table } from './components.js'
import { countOf } from './time.js'

export function Start(props: PanelProps) {
  const keys = props.live.state?.keys ?? []
  return (
    <>
      <div class="column">
        <Panel title="Send a request">
          <Commands {...props} />
        </Panel>
        <Panel title="Test a client">
          <ul class="stack">
            {TESTS.map(([command, use]) => (
              <li key={command}>
                <code>{command}</code> {use}
              </li>
            ))}
          </ul>
        </Panel>
        <Panel title="Reference">
          <ul class="stack">
            {LINKS.map(([path, name, use]) => (
              <li key={path}>
                <a href={path}>{name}</a> {use}
              </li>
            ))}
          </ul>
        </Panel>
      </div>
      <aside class="column">
        <Panel title="API keys">
          <Table
            label="API keys"
            rows={keys}
            columns={[
              ['Key', nameOf],
              ['Per minute', ({ limits }) => countOf(limits.perMinute)],
              ['Per day', ({ limits }) => countOf(limits.perDay)],
            ]}
          />
        </Panel>
      </aside>
    </>
  )
}

function nameOf({ id, apiKey }: KeyState) {
  if (apiKey === null) return id
  return (
    <span class="line tight">
      <code>{apiKey}</code> <CopyButton text={apiKey} label={`Copy the key ${apiKey}`} />
    </span>
  )
}

const TESTS = [
  [
    'npx animal-adoption-store exec -- npm test',
    'runs your tests against a server of their own, and prints a verdict on the client',
  ],
  [
    'npx animal-adoption-store serve --control',
    'adds the verdict, faults and the clock to this console, in the view Test',
  ],
] as const

const LINKS = [
  ['/docs', 'API documentation', 'to read and try out'],
  ['/openapi.json', 'OpenAPI 3.1 description', 'for generators'],
  ['/healthz', 'Health', 'for scripts that wait for the server'],
] as const

export function Commands({ live, world, info }: PanelProps) {
  const baseUrl = new URL(pathsOf(world).api(info.basePath), location.href).href
  const key = live.state?.keys.find(({ apiKey }) => apiKey !== null)?.apiKey ?? '<API_KEY>'
  const bearer = `-H 'Authorization: Bearer ${key}'`
  return (
    <ol class="stack">
      {STEPS.map(([title, target, ...options]) => {
        const text = [`curl -i '${baseUrl}${target}'`, bearer, ...options].join(' \\\n  ')
        return (
          <li key={title}>
            <h3>{title}</h3>
            <div class="box snippet">
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll what can be scrolled */}
              <pre tabIndex={0}>{text}</pre>
              <CopyButton text={text} label={`Copy the command: ${title}`} />
            </div>
          </li>
        )
      })}
    </ol>
  )
}

const STEPS = [
  ['List three animals', '/pets?limit=3'],
  [
    'Add one, with a number that JavaScript would round',
    '/pets',
    `-H 'Content-Type: application/json'`,
    `--data-raw '{"name":"Ada","categoryId":9223372036854775807}'`,
  ],
  ['Make a mistake', '/pets?limit=1000'],
] as const
