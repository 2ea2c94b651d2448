import { Guide } from './guide.js'
import type { PanelProps } from './panel.js'
import { CopyButton, Panel } from './parts.js'
import { pathsOf } from './server.js'
import { countOf } from './time.js'

export function Start(props: PanelProps) {
  const { live, world, info } = props
  const baseUrl = location.origin + pathsOf(world).api(info.basePath)
  const keys = live.state?.keys ?? []
  return (
    <>
      <div class="column">
        <Guide {...props} title="Send a request" />
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
