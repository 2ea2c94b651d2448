import { useEffect, useState } from 'preact/hooks'
import type { Info } from '../messages.js'
import { Animals } from './animals.js'
import { Budgets } from './budgets.js'
import { Clock } from './clock.js'
import { Faults } from './faults.js'
import { Header } from './header.js'
import { Panel, type PanelProps, type Report } from './parts.js'
import { usePlace, type View } from './place.js'
import { Requests } from './requests.js'
import { pathsOf, useJson } from './server.js'
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
  const live = useLive(world)
  const now = useNow(live)
  const [revision, setRevision] = useState(0)
  const { value: info, failure } = useJson<Info>(pathsOf(world).console('info'), revision)
  const path = info?.panels.control ? pathsOf(world).control('report') : ''
  const { value: report } = useJson<Report>(path, `${live.receivedAt} ${revision}`)
  useEffect(() => {
    // The world is gone.
    if (failure?.status === 404) go({ world: '' })
  }, [failure])
  // Nothing is drawn empty: the first message says what there is.
  if (!info || !live.state) return <main class="muted loading">Connecting …</main>

  const { animals } = info.panels
  const views: readonly View[] = [
    'activity',
    ...(animals ? (['animals'] as const) : []),
    'test',
    'start',
  ]
  const props = { live, now, world, info, report, place, go }
  return (
    <>
      <Header {...props} views={views} />
      <main class="view" key={world}>
        {view === 'activity' && <Activity {...props} />}
        {view === 'animals' && <Animals {...props} />}
        {view === 'test' && (
          <Test {...props} revision={revision} onChange={() => setRevision(count => count + 1)} />
        )}
        {view === 'start' && <Start {...props} />}
      </main>
    </>
  )
}

function Activity(props: PanelProps) {
  const { info } = props
  return (
    <>
      <div class="column">
        <Traffic {...props} />
        <Requests {...props} />
      </div>
      <aside class="column">
        {info.panels.budgets && <Budgets {...props} />}
        {info.panels.control && <Clock {...props} />}
      </aside>
    </>
  )
}

function Test(props: PanelProps & { readonly revision: number; readonly onChange: () => void }) {
  const { info, revision, onChange } = props
  if (!info.panels.control) return <Panel title="Test">{WITHOUT_CONTROL}</Panel>
  return (
    <>
      <div class="column">
        <Verdict {...props} />
        <Faults {...props} key={revision} />
      </div>
      <aside class="column">
        <Clock {...props} />
        <State {...props} onChange={onChange} />
      </aside>
    </>
  )
}

const WITHOUT_CONTROL = (
  <p>
    Start the server with <code>--control</code> for the verdict, faults, the clock, snapshots and
    worlds.
  </p>
)
