import { DAY, MINUTE } from '../../../src/limits/decide.js'
import type { KeyState } from '../messages.js'
import type { PanelProps } from './panel.js'
import { Panel } from './parts.js'
import { pathsOf, send } from './server.js'
import { countOf, durationOf } from './time.js'

export function Budgets({ live, now, world, info }: PanelProps) {
  const keys = live.state?.keys ?? []
  return (
    <Panel title="Budgets" class="budgets">
      {now !== undefined &&
        keys.map(key => (
          <Budget key={key.id} {...{ state: key, now, world }} hasControl={info.panels.control} />
        ))}
      {keys.length === 0 && <p class="empty">No API keys.</p>}
    </Panel>
  )
}

function Budget(props: {
  readonly state: KeyState
  readonly now: number
  readonly world: string
  readonly hasControl: boolean
}) {
  const { id, plan, policy, usage } = props.state
  const { now, world, hasControl } = props
  const bannedUntil = usage?.bannedUntil ?? 0
  const used = (count: number | undefined, window: number) =>
    usage && Math.floor(usage.lastSeen / window) === Math.floor(now / window) ? (count ?? 0) : 0
  return (
    <article class="budget">
      <h3>
        {id} <span class="muted">{plan}</span>
      </h3>
      <Gauge
        label="Minute"
        used={used(usage?.minuteCount, MINUTE)}
        limit={policy.perMinute}
        reset={MINUTE - (now % MINUTE)}
      />
      <Gauge
        label="Day"
        used={used(usage?.dayCount, DAY)}
        limit={policy.perDay}
        reset={DAY - (now % DAY)}
      />
      {bannedUntil > now && (
        <p class="ban">
          <span>
            <b>Banned</b> for {durationOf(bannedUntil - now)}, level {usage?.banLevel}
          </span>
          {hasControl && (
            <button
              type="button"
              aria-label={`Skip to the end of the ban of ${id}`}
              onClick={() =>
                send('POST', pathsOf(world).control('clock'), JSON.stringify({ set: bannedUntil }))
              }
            >
              Skip
            </button>
          )}
        </p>
      )}
    </article>
  )
}

function Gauge(props: {
  readonly label: string
  readonly used: number
  readonly limit: number
  readonly reset: number
}) {
  const { label, used, limit, reset } = props
  const share = Math.min(1, used / limit)
  const tone = share === 1 ? 'full' : share >= 0.8 ? 'high' : 'low'
  return (
    <div class="gauge">
      <span class="muted">{label}</span>
      <span>
        {countOf(used)} / {countOf(limit)}
      </span>
      <span class="muted">{used > 0 && `resets in ${durationOf(reset)}`}</span>
      {/* The numbers above say the same. */}
      <div class={`bar ${tone}`} aria-hidden="true">
        <div style={{ width: `${share * 100}%` }} />
      </div>
    </div>
  )
}
