import { DAY, MINUTE } from '../../../../src/limits/windows-and-bans.js'
import { SUNSET } from '../../../../src/pets/specification.js'
import { pathsOf } from './call-server.js'
import { Button, Panel, type PanelProps, useSend } from './components.js'
import { dateOf, timeOf } from './time.js'

export function Clock({ live, now = 0, world }: PanelProps) {
  const [send, problem] = useSend()
  const command = (body: object) => send('POST', pathsOf(world).control('clock'), body)
  const frozen = live.state?.frozen ?? false
  const moves: readonly (readonly [name: string, body: object])[] = [
    ['+1 s', { advance: 1_000 }],
    ['+1 min', { advance: MINUTE }],
    ['Next reset', { set: Math.floor(now / MINUTE + 1) * MINUTE }],
    ['+1 day', { advance: DAY }],
    ['End of getPet', { set: SUNSET }],
  ]
  return (
    <Panel
      title="Clock"
      actions={
        <Button class="push" aria-pressed={frozen} onClick={() => command({ frozen: !frozen })}>
          {frozen ? 'Resume' : 'Freeze'}
        </Button>
      }
    >
      <p class="clock">
        <b>{timeOf(now)}</b> <span class="muted">{dateOf(now)} UTC</span>
      </p>
      <div class="line">
        {moves.map(([name, body]) => (
          <Button key={name} onClick={() => command(body)}>
            {name}
          </Button>
        ))}
      </div>
      {problem}
    </Panel>
  )
}
