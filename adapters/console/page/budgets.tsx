import { DAY, MINUTE } from '../../../src/limits/decide.js'
import type { KeyState } from '../messages.js'
import type { PanelProps } from './panel.js'
import { Panel } from './parts.js'
import { pathsOf, send } from './server.js'
import { countOf, durationOf } from './time.js'

/** From this many keys on, they are rows of a table. */
const MANY = 6

/** What each key has left, and its ban. */
export function Budgets({ live, now, world, info }: PanelProps) {
  const { keys = [], moreKeys = 0 } = live.state ?? {}
  const control = info.panels.control
  const budgets = now === undefined ? [] : keys.map(key => budgetOf(key, now))
  return (
    <Panel title="Budgets" class="budgets">
      {budgets.length < MANY ? (
        budgets.map(budget => (
          <BudgetCard key={budget.id} budget={budget} world={world} hasControl={control} />
        ))
      ) : (
        <BudgetTable budgets={budgets} world={world} hasControl={control} />
      )}
      {keys.length === 0 && <p class="empty">No API keys.</p>}
      {moreKeys > 0 && <p class="muted">{countOf(moreKeys)} more keys are not shown.</p>}
    </Panel>
  )
}

interface Budget {
  readonly id: string
  readonly plan: string
  readonly minute: Left
  readonly day: Left
  /** Undefined when the key is not banned. */
  readonly ban: { readonly until: number; readonly ms: number; readonly level: number } | undefined
}

/** What is left in a window, and the ms until it ends. */
interface Left {
  readonly left: number
  readonly limit: number
  readonly reset: number
}

function budgetOf({ id, plan, policy, usage }: KeyState, now: number): Budget {
  const leftIn = (window: number, limit: number, count = 0): Left => {
    const isNow = usage && Math.floor(usage.lastSeen / window) === Math.floor(now / window)
    const left = Math.max(0, limit - (isNow ? count : 0))
    return { left, limit, reset: window - (now % window) }
  }
  const until = usage?.bannedUntil ?? 0
  return {
    id,
    plan,
    minute: leftIn(MINUTE, policy.perMinute, usage?.minuteCount),
    day: leftIn(DAY, policy.perDay, usage?.dayCount),
    ban: until > now ? { until, ms: until - now, level: usage?.banLevel ?? 1 } : undefined,
  }
}

interface BudgetProps {
  readonly budget: Budget
  readonly world: string
  readonly hasControl: boolean
}

function BudgetCard({ budget, world, hasControl }: BudgetProps) {
  const { id, plan, minute, day, ban } = budget
  return (
    <article class="budget">
      <h3>
        {id} <span class="muted">{plan}</span>
      </h3>
      <Gauge label="Minute" {...minute} />
      <Gauge label="Day" {...day} />
      {ban && (
        <p class="ban">
          <span>
            <b>Banned</b> for {durationOf(ban.ms)}, level {ban.level}
          </span>
          {hasControl && <SkipBan id={id} until={ban.until} world={world} />}
        </p>
      )}
    </article>
  )
}

function Gauge({ label, left, limit, reset }: { readonly label: string } & Left) {
  return (
    <div class="gauge">
      <span class="muted">{label}</span>
      <span>
        {countOf(left)} of {countOf(limit)} left
      </span>
      <span class="muted">{left < limit && `resets in ${durationOf(reset)}`}</span>
      <Bar left={left} limit={limit} />
    </div>
  )
}

/** Full while everything is left. The numbers beside it say the same. */
function Bar({ left, limit }: Pick<Left, 'left' | 'limit'>) {
  const share = left / limit
  const tone = left === 0 ? 'none' : share <= 0.2 ? 'few' : 'many'
  return (
    <div class={`bar ${tone}`} aria-hidden="true">
      <div style={{ width: `${share * 100}%` }} />
    </div>
  )
}

function BudgetTable(props: {
  readonly budgets: readonly Budget[]
  readonly world: string
  readonly hasControl: boolean
}) {
  const { budgets, world, hasControl } = props
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll what can be scrolled
    <section class="budget-table" tabIndex={0} aria-label="What each key has left">
      <table>
        <thead>
          <tr>
            <th scope="col">Key</th>
            <th scope="col">Left this minute</th>
            <th scope="col">Left today</th>
          </tr>
        </thead>
        <tbody>
          {budgets.map(({ id, plan, minute, day, ban }) => (
            <tr key={id}>
              <th scope="row">
                {id} <span class="muted">{plan}</span>
                {ban && (
                  <span class="banned">
                    Banned for {durationOf(ban.ms)}
                    {hasControl && <SkipBan id={id} until={ban.until} world={world} />}
                  </span>
                )}
              </th>
              {[minute, day].map(({ left, limit }, at) => (
                <td key={at}>
                  {countOf(left)} of {countOf(limit)}
                  <Bar left={left} limit={limit} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function SkipBan(props: { readonly id: string; readonly until: number; readonly world: string }) {
  const { id, until, world } = props
  return (
    <button
      type="button"
      aria-label={`Skip to the end of the ban of ${id}`}
      onClick={() => send('POST', pathsOf(world).control('clock'), JSON.stringify({ set: until }))}
    >
      Skip
    </button>
  )
}
