import { type Limits, PLANS, type Plan } from '../../../src/limits/plans.js'
import { DEMO_KEYS } from '../../test-double/demo-keys.js'
import type { ServeSettings } from '../options.js'
import { version } from '../version.js'

/** Facts that scripts need once the server listens. */
export interface Ready {
  readonly baseUrl: string
  readonly origin: string
  /** A working key per plan; empty with `--keys`, which are not printed. */
  readonly apiKeys: Readonly<Partial<Record<Plan, string>>>
  readonly store: string
  readonly rateLimitStore: string
  readonly animals: number
  /** Address of the console with its token; null without a console. */
  readonly console: string | null
  /** Base address of the control tree with its token; null without one. */
  readonly control: string | null
  readonly metrics?: string
  readonly pid: number
  readonly staging?: { readonly baseUrl: string; readonly origin: string }
}

type Row = readonly [label: string, value: string | null | undefined]

/** Fits on one screen. @param source names the origin of the animals */
export function banner(ready: Ready, source: string, settings: ServeSettings): string {
  const { baseUrl, origin, staging, store, rateLimitStore, animals, console, control } = ready
  const [key = '<API_KEY>'] = Object.values(ready.apiKeys)
  const rows: readonly Row[] = [
    ['Base URL', baseUrl],
    ['Staging', staging?.baseUrl],
    ['Console', console],
    ['Docs', `${origin}/docs`],
    ['Control', control],
    ['Metrics', ready.metrics],
    ['Animals', `${animals}, ${source}`],
    ['Storage', store === 'memory:' ? 'memory, lost when the server stops' : store],
    ['Limits', rateLimitStore === 'memory:' ? null : rateLimitStore],
    ...keyRows(ready, settings),
    ['Mode', modesOf(settings)],
    ['Try', `curl -i '${baseUrl}/pets?limit=3' -H 'Authorization: Bearer ${key}'`],
    ['Stop', 'Ctrl+C'],
  ]
  const lines = rows.flatMap(([label, value]) => (value ? `  ${label.padEnd(9)} ${value}` : []))
  return `animal-adoption-store ${version()}\n\n${lines.join('\n')}\n`
}

function keyRows({ apiKeys }: Ready, { keys, rateLimiting }: ServeSettings): readonly Row[] {
  if (keys !== undefined) return [['API keys', `from ${keys}`]]
  return Object.entries(apiKeys).map(([plan, key], at) => {
    const budget = rateLimiting === false ? plan : budgetText(POLICIES[plan as Plan])
    return [at === 0 ? 'API keys' : '', `${key.padEnd(16)} ${budget}`]
  })
}

const POLICIES: Readonly<Record<Plan, Limits>> = {
  ...PLANS,
  enterprise: DEMO_KEYS['demo-enterprise'].limits,
}

function budgetText({ perMinute, perDay }: Limits): string {
  const [minute, day] = [perMinute, perDay].map(value => value.toLocaleString('en-US'))
  return `${minute} requests a minute, ${day} a day`
}

function modesOf(settings: ServeSettings): string {
  const { rateLimiting, noCors, pagination, idempotency, delay, time, watch } = settings
  const modes = [
    rateLimiting === false && 'no rate limits',
    rateLimiting === 'shadow' && 'limits in shadow mode: counted, never rejected',
    noCors && 'no CORS',
    pagination && 'pagination',
    idempotency !== undefined && 'idempotency keys',
    delay > 0 && `${delay} ms delay`,
    time !== undefined && `clock frozen at ${new Date(time).toISOString()}`,
    watch && 'watching files',
  ]
  return modes.filter(mode => mode !== false).join(', ')
}
