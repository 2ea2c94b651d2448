import type { Plan, Policy } from '../../src/plans.js'
import { version } from './version.js'

/** What there is to know once the server listens. */
export interface Ready {
  readonly baseUrl: string
  readonly origin: string
  /** A working key per plan; empty with keys of one's own, which are not printed. */
  readonly apiKeys: Readonly<Partial<Record<Plan, string>>>
  readonly store: string
  readonly limits: string
  readonly animals: number
  /** The base of the control tree, or null without it. */
  readonly control: string | null
  readonly pid: number
  readonly staging?: { readonly baseUrl: string; readonly origin: string }
}

/** What the banner says beyond that, for people only. */
export interface Told {
  readonly animalsFrom: string
  readonly policies: Readonly<Record<Plan, Policy>>
  readonly keysFrom: string | undefined
}

/** One screen: where it is, what works, what to paste, how to stop. */
export function banner(ready: Ready, { animalsFrom, policies, keysFrom }: Told): string {
  const keys = Object.entries(ready.apiKeys).map(([plan, key]) => {
    const { perMinute, perDay } = policies[plan as Plan]
    return `${key.padEnd(16)} ${count(perMinute)} requests a minute, ${count(perDay)} a day`
  })
  const rows: [string, string][] = [
    ['Base URL', ready.baseUrl],
    ...(ready.staging ? [['Staging', ready.staging.baseUrl] as [string, string]] : []),
    ['Animals', `${ready.animals}, ${animalsFrom}`],
    ['Storage', ready.store === 'memory:' ? 'memory, gone when the server stops' : ready.store],
    ...(ready.limits === 'memory:' ? [] : [['Limits', ready.limits] as [string, string]]),
    ...(ready.control ? [['Control', ready.control] as [string, string]] : []),
    ...(keys.length === 0 ? [`those of ${keysFrom}`] : keys).map(
      (key, at) => [at === 0 ? 'API keys' : '', key] as [string, string],
    ),
    [
      'Try',
      `curl -i '${ready.baseUrl}/pets?limit=3' -H 'Authorization: Bearer ${firstKey(ready)}'`,
    ],
    ['Stop', 'Ctrl+C'],
  ]
  const lines = rows.map(([label, value]) => `  ${label.padEnd(9)} ${value}`)
  return `animal-adoption-store ${version()}\n\n${lines.join('\n')}\n`
}

function firstKey({ apiKeys }: Ready): string {
  return Object.values(apiKeys)[0] ?? '<API_KEY>'
}

function count(value: number): string {
  return value.toLocaleString('en-US')
}
