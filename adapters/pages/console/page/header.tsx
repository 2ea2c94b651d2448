import { MINUTE } from '../../../../src/limits/windows-and-bans.js'
import { pathsOf } from './call-server.js'
import { CopyButton, type PanelProps } from './components.js'
import { hrefOf, VIEWS, type View } from './place.js'
import { countOf, dateOf, timeOf } from './time.js'

const ICON = document.querySelector<HTMLLinkElement>('link[rel=icon]')?.href

const CONNECTIONS = {
  open: ['Live'],
  lost: ['Reconnecting', 'The server does not answer. What is shown may be out of date.'],
  refused: ['Closed', 'The server has another token now: open the address that it printed.'],
}

export function Header({ live, now, world, info, place, report, go }: PanelProps) {
  const views = (Object.keys(VIEWS) as View[]).filter(
    view => view !== 'animals' || info.panels.animals,
  )
  const baseUrl = new URL(pathsOf(world).api(info.basePath), location.href).href
  const [connection, banner] = CONNECTIONS[live.connection]
  const findings = report?.findings.length ?? 0
  const isReal = Math.abs((now ?? 0) - live.skew - Date.now()) < MINUTE
  const time = live.state?.frozen ? 'Frozen' : isReal ? 'Real time' : 'Test time'
  const worlds = [...new Set(['', ...info.worlds, world])]
  return (
    <header class="top line">
      <img src={ICON} width="22" height="22" alt="" />
      <div class="name">
        <h1>Adoption Store</h1>
        <p class="muted">Test server: requests appear here</p>
      </div>
      <nav aria-label="Views">
        {views.map(view => (
          <a
            key={view}
            href={hrefOf({ view, world, parameters: {} })}
            aria-current={view === place.view && 'page'}
          >
            {VIEWS[view]}{' '}
            {view === 'test' && report && (
              <span class={`chip ${findings > 0 ? 'banned' : 'ok'}`}>
                {countOf(findings)}
                <span> {findings === 1 ? 'finding' : 'findings'}</span>
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
      <span class={`chip dot ${time === 'Real time' ? 'ok' : 'refused'}`}>{time}</span>
      <span class={`chip dot ${live.connection === 'open' ? 'ok' : 'banned'}`} role="status">
        {connection}
      </span>
      {banner && <p class="banner problem">{banner}</p>}
    </header>
  )
}
