import { useEffect, useState } from 'preact/hooks'
import type { Info } from '../messages.js'
import { Animals } from './animals.js'
import { Budgets } from './budgets.js'
import { Clock } from './clock.js'
import { Faults } from './faults.js'
import { usePlace, type View } from './fragment.js'
import { FirstRun } from './guide.js'
import { Header } from './header.js'
import { useLatest } from './latest.js'
import { Requests } from './requests.js'
import { pathsOf, read } from './server.js'
import { Start } from './start.js'
import { State } from './state.js'
import { useLive } from './stream.js'
import { useNow } from './time.js'
import { Traffic } from './traffic.js'
import { Verdict } from './verdict.js'

/** The whole page. The view and the world are in the fragment, so that links and reloads keep them. */
export function App() {
  const [place, go] = usePlace()
  const { view, world } = place
  const [info, setInfo] = useState<Info>()
  const [revision, setRevision] = useState(0)
  const latest = useLatest()
  const refresh = () => {
    void latest(read<Info>(pathsOf(world).console('info')), found => {
      if (found) setInfo(found)
      // The world is gone.
      else if (world !== '') go({ world: '' })
    })
  }
  useEffect(refresh, [world])
  const live = useLive(world)
  const now = useNow(live)
  if (!info) return <main class="loading">{info === undefined && 'Connecting …'}</main>

  const { animals, budgets, control } = info.panels
  const views: readonly View[] = [
    'activity',
    ...(animals ? (['animals'] as const) : []),
    ...(control ? (['test'] as const) : []),
    'start',
  ]
  const shared = { live, now, world, info, place, go }
  return (
    <>
      <Header {...shared} view={view} views={views} onWorld={next => go({ world: next })} />
      <main class={`view ${view}`}>
        {/* Nothing is drawn empty: the first message says what there is. */}
        {!live.state && <p class="muted">Connecting …</p>}
        {live.state && view === 'activity' && (
          <>
            <div class="column">
              <FirstRun {...shared} />
              <Traffic {...shared} />
              <Requests {...shared} key={world} />
            </div>
            <aside class="column">
              {budgets && <Budgets {...shared} />}
              {control && <Clock {...shared} />}
            </aside>
          </>
        )}
        {live.state && view === 'animals' && <Animals {...shared} key={world} />}
        {live.state && view === 'test' && (
          <>
            <div class="column">
              <Verdict {...shared} key={world} revision={revision} />
              <Faults {...shared} key={world} revision={revision} />
            </div>
            <aside class="column">
              <Clock {...shared} />
              <State
                {...shared}
                onChange={() => setRevision(count => count + 1)}
                onWorlds={refresh}
                onWorld={next => go({ world: next })}
              />
            </aside>
          </>
        )}
        {live.state && view === 'start' && <Start {...shared} />}
      </main>
    </>
  )
}
