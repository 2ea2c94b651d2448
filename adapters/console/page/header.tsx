import { CopyButton, type PanelProps } from './parts.js'
import { hrefOf, type View } from './place.js'
import { pathsOf } from './server.js'
import { countOf, dateOf, timeOf } from './time.js'

const NAMES: Record<View, string> = {
  activity: 'Activity',
  animals: 'Animals',
  test: 'Test',
  start: 'Start',
}

const BANNERS = {
  lost: 'The server does not answer. What is shown may be out of date.',
  refused: 'The server has another token now: open the address that it printed.',
}

export function Header(props: PanelProps & { readonly views: readonly View[] }) {
  const { live, now, world, info, place, report, views, go } = props
  const baseUrl = location.origin + pathsOf(world).api(info.basePath)
  const findings = report?.findings.length ?? 0
  const worlds = [...new Set(['', ...info.worlds, world])]
  return (
    <header class="top line">
      <Paw />
      <h1>Adoption Store</h1>
      <nav aria-label="Views">
        {views.map(view => (
          <a
            key={view}
            href={hrefOf({ view, world, parameters: {} })}
            aria-current={view === place.view && 'page'}
          >
            {NAMES[view]}{' '}
            {view === 'test' && findings > 0 && (
              <span class="chip banned">
                {countOf(findings)}
                <span class="hidden"> {findings === 1 ? 'finding' : 'findings'}</span>
              </span>
            )}
          </a>
        ))}
      </nav>
      {worlds.length > 1 && (
        <label class="line tight push">
          <span class="muted">World</span>
          <select value={world} onChange={event => go({ world: event.currentTarget.value })}>
            {worlds.map(id => (
              <option key={id} value={id}>
                {id || 'main'}
              </option>
            ))}
          </select>
        </label>
      )}
      <span class="line tight push address">
        <code>{baseUrl}</code>
        <CopyButton text={baseUrl} label="Copy the base URL" />
      </span>
      {now !== undefined && (
        <time class="push" dateTime={new Date(now).toISOString()}>
          <b>{timeOf(now)}</b> <span class="muted">{dateOf(now)} UTC</span>
        </time>
      )}
      {live.state?.frozen && <span class="chip dot refused">Frozen</span>}
      <span class={`chip dot ${live.connection === 'open' ? 'ok' : 'banned'}`} role="status">
        {live.connection === 'open' ? 'Live' : 'Reconnecting'}
      </span>
      {live.connection !== 'open' && <p class="banner problem">{BANNERS[live.connection]}</p>}
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
