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

const ICON = document.querySelector<HTMLLinkElement>('link[rel=icon]')?.href

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
      <img src={ICON} width="22" height="22" alt="" />
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
