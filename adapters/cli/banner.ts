import type { Plan, Policy } from '../../src/limits/plans.js'
import { version } from './version.js'

/** What scripts need to know once the server listens. */
export interface Ready {
  readonly baseUrl: string
  readonly origin: string
  /** A working key for each plan; empty with `--keys`, which are not printed. */
  readonly apiKeys: Readonly<Partial<Record<Plan, string>>>
  readonly store: string
  readonly limits: string
  readonly animals: number
  /** The address of the console, with its token if it needs one, or null without it. */
  readonly console: string | null
  /** The base of the control tree, or null without it. */
  readonly control: string | null
  readonly pid: number
  readonly staging?: { readonly baseUrl: string; readonly origin: string }
}

/** What the banner adds for people. */
export interface Details {
  readonly source: string
  /** Where other machines reach it. */
  readonly networkUrls: readonly string[]
  /** Undefined without rate limits. */
  readonly policies: Readonly<Record<Plan, Policy>> | undefined
  readonly keysFile: string | undefined
  /** Options in effect, such as 'no rate limits'. */
  readonly modes: readonly string[]
}

type Row = readonly [label: string, value: string]

/** One screen: the address, working keys, a command to paste, and how to stop. */
export function banner(ready: Ready, details: Details): string {
  const { baseUrl, origin, staging, store, limits, animals, console, control } = ready
  const { source, modes } = details
  const [key = '<API_KEY>'] = Object.values(ready.apiKeys)
  const rows: readonly Row[] = [
    ['Base URL', baseUrl],
    ...networkRows(details.networkUrls),
    ...rowIf('Staging', staging?.baseUrl),
    ...rowIf('Console', console),
    ['Docs', `${origin}/docs`],
    ...rowIf('Control', control),
    ['Animals', `${animals}, ${source}`],
    ['Storage', store === 'memory:' ? 'memory, lost when the server stops' : store],
    ...rowIf('Limits', limits === 'memory:' ? undefined : limits),
    ...keyRows(ready, details),
    ...rowIf('Mode', modes.length > 0 ? modes.join(', ') : undefined),
    ['Try', `curl -i '${baseUrl}/pets?limit=3' -H 'Authorization: Bearer ${key}'`],
    ['Stop', 'Ctrl+C'],
  ]
  const lines = rows.map(([label, value]) => `  ${label.padEnd(9)} ${value}`)
  return `animal-adoption-store ${version()}\n\n${lines.join('\n')}\n`
}

function networkRows(urls: readonly string[]): readonly Row[] {
  return urls.map((url, index) => [index === 0 ? 'Network' : '', url])
}

function keyRows({ apiKeys }: Ready, { policies, keysFile }: Details): readonly Row[] {
  if (keysFile !== undefined) return [['API keys', `from ${keysFile}`]]
  return Object.entries(apiKeys).map(([plan, key], index) => {
    const budget = policies ? budgetText(policies[plan as Plan]) : plan
    return [index === 0 ? 'API keys' : '', `${key.padEnd(16)} ${budget}`]
  })
}

function budgetText({ perMinute, perDay }: Policy): string {
  return `${count(perMinute)} requests a minute, ${count(perDay)} a day`
}

function rowIf(label: string, value: string | null | undefined): readonly Row[] {
  return value === null || value === undefined ? [] : [[label, value]]
}

function count(value: number): string {
  return value.toLocaleString('en-US')
}
