import { hrefOf, type View } from './fragment.js'
import type { PanelProps } from './panel.js'
import { CopyButton } from './parts.js'
import { pathsOf } from './server.js'
import { dateOf, timeOf } from './time.js'

interface Props extends PanelProps {
  readonly view: View
  readonly views: readonly View[]
  readonly onWorld: (world: string) => void
}

const NAMES: Record<View, string> = {
  activity: 'Activity',
  animals: 'Animals',
  test: 'Test',
  start: 'Start',
}

export function Header({ live, now, world, info, view, views, onWorld }: Props) {
  const baseUrl = location.origin + pathsOf(world).api(info.basePath)
  return (
    <header class="top">
      <div class="brand">
        <Paw />
        <h1>Adoption Store</h1>
      </div>
      <nav aria-label="Views">
        {views.map(name => (
          <a
            key={name}
            href={hrefOf({ view: name, world, parameters: {} })}
            aria-current={name === view && 'page'}
          >
            {NAMES[name]}
          </a>
        ))}
      </nav>
      <div class="where">
        {(info.worlds.length > 0 || world !== '') && (
          <label class="world">
            <span>World</span>
            <select value={world} onChange={event => onWorld(event.currentTarget.value)}>
              <option value="">main</option>
              {info.worlds.map(id => (
                <option key={id} value={id}>
                  {id}
                </option>
              ))}
            </select>
          </label>
        )}
        <span class="address">
          <code>{baseUrl}</code>
          <CopyButton text={baseUrl} label="Copy the base URL" />
        </span>
      </div>
      <div class="now">
        {now !== undefined && (
          <time dateTime={new Date(now).toISOString()}>
            <b>{timeOf(now)}</b> {dateOf(now)} UTC
          </time>
        )}
        {live.state?.frozen && <span class="badge frozen">Frozen</span>}
        <span class={`badge ${live.connected ? 'live' : 'lost'}`} role="status">
          {live.connected ? 'Live' : 'Reconnecting'}
        </span>
      </div>
    </header>
  )
}

function Paw() {
  return (
    <svg class="paw" viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
      <ellipse cx="5.2" cy="11" rx="2.2" ry="2.9" />
      <ellipse cx="9.4" cy="6" rx="2.2" ry="3" />
      <ellipse cx="14.6" cy="6" rx="2.2" ry="3" />
      <ellipse cx="18.8" cy="11" rx="2.2" ry="2.9" />
      <path d="M12 11.2c-3.2 0-6 3.6-6 6.2 0 1.9 1.4 2.8 2.9 2.8 1.2 0 2-.6 3.1-.6s1.9.6 3.1.6c1.5 0 2.9-.9 2.9-2.8 0-2.6-2.8-6.2-6-6.200z" />
    </svg>
  )
}
