import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Report } from '../../../verdict/report.js'
import type { Info } from '../routes.js'
import { Animals } from './animals.js'
import { pathsOf, useJson } from './call-server.js'
import { Clock } from './clock.js'
import { Panel, type PanelProps } from './components.js'
import { Faults } from './faults.js'
import { Header } from './header.js'
import { usePlace } from './place.js'
import { Requests } from './requests.js'
import { RequestsLeft } from './requests-left.js'
import { State } from './reset-and-worlds.js'
import { Start } from './start.js'
import { useLive } from './stream.js'
import { useNow } from './time.js'
import { Closed, takeToken } from './token.js'
import { Traffic } from './traffic.js'
import { Verdict } from './verdict.js'

/** The whole page. View and world are in the fragment, so that links and reloads keep them. */
function App() {
  const [place, go] = usePlace()
  const { view, world } = place
  const live = useLive(world)
  const now = useNow(live)
  const [revision, setRevision] = useState(0)
  const { value: info, failure } = useJson<Info>(pathsOf(world).console('info'), revision)
  const path = info?.panels.control ? pathsOf(world).control('report') : ''
  const { value: report } = useJson<Report>(path, `${live.receivedAt} ${revision}`)
  useEffect(() => {
    // The world was deleted.
    if (failure?.status === 404) go({ world: '' })
  }, [failure])
  if (failure?.status === 403 && !info) return <Closed />
  // Wait for the first message rather than draw an empty page.
  if (!info || !live.state) return <main class="view muted">Connecting …</main>

  const refresh = () => setRevision(count => count + 1)
  const props = { live, now, world, info, report, revision, refresh, place, go }
  const View = PANELS[view]
  return (
    <>
      <Header {...props} />
      <main class="view" key={world}>
        <View {...props} />
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
        {info.panels.usage && <RequestsLeft {...props} />}
        {info.panels.control && <Clock {...props} />}
      </aside>
    </>
  )
}

function Test(props: PanelProps) {
  if (!props.info.panels.control) return <Panel title="Test">{WITHOUT_CONTROL}</Panel>
  return (
    <>
      <div class="column">
        <Verdict {...props} />
        <Faults {...props} key={props.revision} />
      </div>
      <aside class="column">
        <Clock {...props} />
        <State {...props} />
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

const PANELS = { activity: Activity, animals: Animals, test: Test, start: Start }

// In an open page, opening the printed address changes only the fragment.
addEventListener('hashchange', () => takeToken(location.hash) && location.reload())
if (takeToken(location.hash)) history.replaceState(null, '', location.pathname)
render(<App />, document.getElementById('app') as HTMLElement)
