import type { PanelProps } from './panel.js'
import { CopyButton, Panel, Snippet } from './parts.js'
import { pathsOf } from './server.js'
import { countOf } from './time.js'

export function Start({ live, world, info }: PanelProps) {
  const baseUrl = location.origin + pathsOf(world).api(info.basePath)
  const keys = live.state?.keys ?? []
  const key = keys.find(({ key }) => key !== null)?.key ?? '<API_KEY>'
  const bearer = `-H 'Authorization: Bearer ${key}'`
  return (
    <>
      <div class="column">
        <Panel title="Send a request">
          <p>List three animals:</p>
          <Snippet
            label="Copy the list command"
            text={`curl -i '${baseUrl}/pets?limit=3' \\\n  ${bearer}`}
          />
          <p>Add one:</p>
          <Snippet
            label="Copy the create command"
            text={`curl -i '${baseUrl}/pets' \\\n  ${bearer} \\\n  -H 'Content-Type: application/json' \\\n  --data-raw '{"name":"Ada","categoryId":9223372036854775807}'`}
          />
          <p>
            Every request appears under <a href="#activity">Activity</a>, with its headers, its body
            and what is left of the budget.
          </p>
        </Panel>
        <Panel title="Reference">
          <ul class="links">
            <li>
              <a href="/docs">API documentation</a> to read and try out
            </li>
            <li>
              <a href="/openapi.json">OpenAPI 3.1 description</a> for generators
            </li>
            <li>
              <a href="/healthz">Health</a> for scripts that wait for the server
            </li>
          </ul>
        </Panel>
      </div>
      <aside class="column">
        <Panel title="Base URL">
          <p class="value">
            <code>{baseUrl}</code>
            <CopyButton text={baseUrl} label="Copy the base URL" />
          </p>
        </Panel>
        <Panel title="API keys">
          <ul class="keys">
            {keys.map(({ id, plan, key, policy }) => (
              <li key={id}>
                <p class="value">
                  <code>{key ?? id}</code>
                  {key === null ? (
                    <span class="muted">key hidden</span>
                  ) : (
                    <CopyButton text={key} label={`Copy the key ${key}`} />
                  )}
                </p>
                <p class="muted">
                  {plan}: {countOf(policy.perMinute)} a minute, {countOf(policy.perDay)} a day
                </p>
              </li>
            ))}
          </ul>
        </Panel>
      </aside>
    </>
  )
}
