import { DAY, MINUTE } from '../../../../src/limits/windows-and-bans.js'
import type { KeyState } from '../world-state.js'
import { pathsOf, send } from './call-server.js'
import { Button, Panel, type PanelProps, Table } from './components.js'
import { countOf, durationOf, shortCountOf } from './time.js'

export function RequestsLeft({ live, now = 0, world, info }: PanelProps) {
  const { keys = [], moreKeys = 0 } = live.state ?? {}
  const used = keys.filter(key => usedIn(DAY, key, now) > 0)
  const idle = keys.filter(key => usedIn(DAY, key, now) === 0)
  const skipTo = (set: number) =>
    send('POST', pathsOf(world).control('clock'), JSON.stringify({ set }))
  return (
    <Panel title="Requests left">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll what can be scrolled */}
      <section class="scroll" tabIndex={0} aria-label="What each key has left">
        {used.length > 0 && (
          <Table
            label="Requests left"
            rows={used}
            columns={[
              ['Key', ({ id, plan }) => [id, <br />, <span class="muted">{plan}</span>]],
              ['This minute', key => leftOf(key.limits.perMinute, usedIn(MINUTE, key, now))],
              ['Today', key => leftOf(key.limits.perDay, usedIn(DAY, key, now))],
            ]}
          />
        )}
        {idle.length > 0 && (
          <details>
            <summary>{countOf(idle.length, 'idle key')}</summary>
            {idle.map(({ id, limits: { perMinute, perDay } }) => (
              <p key={id} class="muted">
                {id}: {countOf(perMinute)} a minute, {shortCountOf(perDay)} a day
              </p>
            ))}
          </details>
        )}
      </section>
      {keys.map(({ id, usage }) => {
        const until = usage?.bannedUntil ?? 0
        return (
          until > now && (
            <p key={id} class="line tight problem">
              {id}: banned for {durationOf(until - now)}, level {usage?.banLevel}
              {info.panels.control && (
                <Button
                  class="push"
                  aria-label={`Skip to the end of the ban of ${id}`}
                  onClick={() => skipTo(until)}
                >
                  Skip
                </Button>
              )}
            </p>
          )
        )
      })}
      <p class="muted">
        {moreKeys > 0 && `${countOf(moreKeys)} more keys are not shown. `}
        Minutes reset in {durationOf(MINUTE - (now % MINUTE))}, days in{' '}
        {durationOf(DAY - (now % DAY))}.
      </p>
    </Panel>
  )
}

function usedIn(window: number, { usage }: KeyState, now: number): number {
  if (!usage || Math.floor(usage.lastSeenAt / window) !== Math.floor(now / window)) return 0
  return window === MINUTE ? usage.minuteCount : usage.dayCount
}

/** A full bar is an unused limit. */
function leftOf(limit: number, used: number) {
  if (used === 0) return <span class="muted">{shortCountOf(limit)} left</span>
  const left = Math.max(0, limit - used)
  const tone = left === 0 ? 'banned' : left <= limit / 5 ? 'limited' : ''
  return (
    <>
      <span class={tone && `tone ${tone}`}>
        {countOf(left)} of {shortCountOf(limit)}
      </span>
      <progress value={left} max={limit} aria-hidden="true" />
    </>
  )
}
