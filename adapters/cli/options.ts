import { LONGEST_TIMER } from '../../src/lib/check-options.js'
import { durationOf, INSTANT_TEXT, instantOf } from '../../src/lib/time.js'
import type { RateLimitMode } from '../../src/limits/mode.js'
import { OPERATIONS, type Operation } from '../../src/pets/specification.js'
import { UsageError, withoutSecrets } from './usage-error.js'

export interface Option<T = unknown> extends More {
  readonly kind: Kind<T>
  readonly help: string
  /** Placeholder of the value; an option without one is a switch. */
  readonly value?: string
  readonly default?: string
}

/** Options by name, such as `stagingPort` for `--staging-port`. */
export type Options = Readonly<Record<string, Option>>

export type SettingsOf<O extends Options> = {
  readonly [N in keyof O]: O[N] extends Option<infer T> ? T : never
}

interface More {
  readonly short?: string
  /** Value of the bare option, if the value may be left out. */
  readonly alone?: string
  readonly needs?: string
  readonly excludes?: readonly string[]
}

export interface Kind<T> {
  /** Completes the sentence "--port takes …". */
  readonly takes: string
  /** @returns undefined for an invalid text */
  readonly read: (text: string) => T | undefined
  /** The option may be repeated: its texts are joined with commas. */
  readonly isList?: true
}

/** @param value placeholder, and after `=` the default: `n=4280` */
function option<T>(
  kind: Kind<T>,
  value: `${string}=${string}`,
  help: string,
  more?: More,
): Option<T>
function option<T>(kind: Kind<T>, value: string, help: string, more?: More): Option<T | undefined>
function option<T>(kind: Kind<T>, value: string, help: string, more?: More): Option<T> {
  const [placeholder = '', standard] = value.split('=')
  return {
    kind,
    help,
    value: placeholder,
    ...(standard !== undefined && { default: standard }),
    ...more,
  }
}

function toggle(help: string, more?: More): Option<boolean> {
  return { help, kind: { takes: 'no value', read: () => true }, ...more }
}

export function readOption(name: string, { kind, ...about }: Option, given?: string): unknown {
  const text = given ?? about.default
  if (text === undefined) return about.value === undefined ? false : undefined
  return readValue(kind, text, flagOf(name))
}

export function readValue<T>(kind: Kind<T>, text: string, name: string): T {
  const value = kind.read(text)
  if (value !== undefined) return value
  throw new UsageError(`${name} takes ${kind.takes}, got '${withoutSecrets(text)}'`)
}

export function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`
}

const text: Kind<string> = { takes: 'a value', read: given => given }

export function wholeNumber(least = 1, most = LONGEST_TIMER): Kind<number> {
  return {
    takes: `a whole number from ${least} to ${most}`,
    read: given =>
      /^\d+$/.test(given) && Number(given) >= least && Number(given) <= most
        ? Number(given)
        : undefined,
  }
}

/** In ms. */
export function duration({ least = 1, most = LONGEST_TIMER } = {}): Kind<number> {
  const end = most < Number.MAX_SAFE_INTEGER ? ` to ${most}ms` : ''
  return {
    takes: `a duration such as 500ms, 61s, 24h or 1d, in whole ms from ${least}ms${end}`,
    read: given => {
      const ms = valid(() => durationOf('', given))
      return Number.isInteger(ms) && Number(ms) >= least && Number(ms) <= most ? ms : undefined
    },
  }
}

/** In ms since the Unix epoch. */
const instant: Kind<number> = {
  takes: INSTANT_TEXT,
  read: given => valid(() => instantOf('', given)),
}

function oneOf<const T>(words: Readonly<Record<string, T>>): Kind<T> {
  return {
    takes: Object.keys(words)
      .join(', ')
      .replace(/, (\w+)$/, ' or $1'),
    read: given => (Object.hasOwn(words, given) ? words[given] : undefined),
  }
}

const list: Kind<readonly string[]> = {
  takes: 'values',
  isList: true,
  read: given => given.split(',').filter(word => word !== ''),
}

const operations: Kind<readonly Operation[]> = {
  takes: `some of ${OPERATIONS.join(', ')}`,
  isList: true,
  read: given => {
    const words = given.split(',') as readonly Operation[]
    return words.every(word => OPERATIONS.includes(word)) ? words : undefined
  },
}

const address: Kind<{ readonly host: string; readonly port: number }> = {
  takes: '<host> or <host>:<port>',
  read: given => {
    if (/^\d*$/.test(given) || !URL.canParse(`http://${given}`)) return undefined
    const { hostname, pathname } = new URL(`http://${given}`)
    if (hostname === '' || pathname !== '/') return undefined
    // IPv6 without brackets; 9464 is the default port of OpenTelemetry's Prometheus exporter.
    return {
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(/:(\d+)$/.exec(given)?.[1] ?? 9464),
    }
  },
}

const hostName: Kind<string> = {
  takes: 'a host name, or an address, with brackets for IPv6',
  read: given => (/^[\w.-]+$|^\[[\da-f:.]+\]$/i.test(given) ? given : undefined),
}

function valid<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

const PORT = wholeNumber(0, 65_535)
const MANY = wholeNumber(1, 1_000_000)
const BUDGET = wholeNumber(1, 999_999_999_999_999)
const LOG_FORMAT = oneOf({ pretty: 'pretty', json: 'json', silent: 'silent' })
const MODE = oneOf<RateLimitMode>({ on: true, off: false, shadow: 'shadow' })
const LEVEL = oneOf({ findings: 'findings', notes: 'notes' })
const PLAN = oneOf({ free: 'free', pro: 'pro', business: 'business', enterprise: 'enterprise' })

export const GENERAL = {
  help: toggle('print this help', { short: 'h' }),
  version: toggle('print the version', { short: 'v' }),
}

export const SERVER = {
  port: option(PORT, 'n=4280', 'port to listen on; 0 picks a free one', { short: 'p' }),
  host: option(text, 'host=127.0.0.1', 'address to bind; beyond loopback it needs --keys'),
  store: option(text, 'store=memory:', 'memory:, x.json, x.sqlite, postgres://… or postgres:'),
  rateLimitStore: option(text, 'store=memory:', 'counters: memory:, sqlite:x, redis://… or redis:'),
  requireRateLimitStore: toggle(
    'exit with 1 if the server of --rate-limit-store is unreachable at startup',
  ),
  proxyHops: option(wholeNumber(0, 100), 'n=0', 'trusted proxies in front, for X-Forwarded-For'),
  keepAlive: option(duration(), 'duration=72s', 'how long an idle connection is kept'),
  stagingPort: option(PORT, 'n', 'serve a second, separate store on this port'),
  console: toggle('also serve the console with --keys, --proxy-hops or --host, behind a token'),
  noConsole: toggle('no console at / and no /_console', { excludes: ['console'] }),
  watch: toggle('reload --seed and --keys when the files change', {
    excludes: ['control', 'time'],
  }),
  drain: option(
    duration({ least: 0 }),
    'duration=0s',
    'how long to report "not ready" on SIGTERM before stopping',
  ),
  metrics: option(
    address,
    'host:port',
    'serve GET /metrics for Prometheus on this address (127.0.0.1:9464)',
    { alone: '127.0.0.1:9464' },
  ),
  log: option(LOG_FORMAT, 'format=pretty', 'request log on stderr: pretty, json or silent'),
  quiet: toggle('no banner and no request log', { short: 'q' }),
  json: toggle('print one line of JSON on stdout when ready'),
  open: toggle('open the console in a browser'),
}

export const STORE = {
  seed: option(
    text,
    'file.json|edge',
    'animals for an empty store, as an array or as pets (demo data; none for a file or database with --keys)',
  ),
  empty: toggle('start without the demo animals', { excludes: ['seed'] }),
  keys: option(
    text,
    'file.json',
    'keys instead of the demo keys: {"<key>": {"id": "ci", "plan": "pro"}}',
  ),
  rateLimiting: option(MODE, 'mode=on', 'on, off, or shadow: count and report, but reject nothing'),
  noCors: toggle('no CORS headers'),
  pagination: toggle('add ?after=<id> and Link: rel="next" to lists'),
  idempotency: option(
    duration({ most: Number.MAX_SAFE_INTEGER }),
    'duration',
    'store creates with an Idempotency-Key once, and keep keys this long (24h)',
    { alone: '24h' },
  ),
  delay: option(duration({ least: 0, most: 600_000 }), 'duration=0s', 'wait before every response'),
  control: toggle('serve /_control: clock, faults, verdict, reset, snapshots'),
  time: option(instant, 'instant', 'freeze the clock at this ISO instant; implies --control'),
}

const { empty: _, ...STORE_OF_RUN } = STORE
/** The private store of `exec` starts empty. */
export const STORE_OF_EXEC = {
  ...STORE_OF_RUN,
  seed: { ...STORE.seed, help: 'animals, as an array or as pets, instead of none' },
}

/** Features that `openapi` can describe. */
export const DESCRIBED = {
  keys: STORE.keys,
  rateLimiting: STORE.rateLimiting,
  pagination: STORE.pagination,
  idempotency: STORE.idempotency,
}

export const VERDICT = {
  strict: option(
    LEVEL,
    'notes',
    'exit with 1 on a finding (=notes: also on a note), or if the API was never called',
    { alone: 'findings' },
  ),
  allow: option(list, 'rule=', 'a rule that --strict forgives; may be repeated'),
  clients: option(MANY, 'n', 'how many clients share a key'),
  requireFaults: toggle('exit with 1 if an armed fault never fired'),
  report: option(text, 'file.json', 'write the verdict as JSON'),
  junit: option(text, 'file.xml', 'write the verdict as JUnit XML'),
}

export const RUN = {
  skipWaits: toggle('skip the waits of clients in Node and Python, on a virtual clock', {
    excludes: ['time'],
  }),
  host: option(
    text,
    'host=127.0.0.1',
    'address to bind; beyond loopback the keys are random, unless given',
  ),
  advertise: option(hostName, 'host', 'host in ADOPTION_STORE_BASE_URL (that of --host)'),
  record: option(text, 'file.json', 'record the run, for replay and diff'),
  har: option(text, 'file.har', 'write the exchanges as an HTTP archive'),
  schedule: option(text, 'schedule', "run the command with these faults: 'createPet#1=reset'"),
}

/** Faults that take no time, as a command runs in real time. */
const FAULTS = 'reset,truncate,status:503,status:503-after,status:429'
const OF_EXPLORE = { needs: 'explore' }

export const EXPLORE = {
  explore: toggle('repeat the command, each time with other faults', {
    excludes: ['schedule', 'record', 'har', 'requireFaults'],
  }),
  faults: option(list, `fault=${FAULTS}`, 'what to try', OF_EXPLORE),
  only: option(
    operations,
    'operation',
    'faults at this operation only, such as listPets; may be repeated',
    OF_EXPLORE,
  ),
  depth: option(MANY, 'n=1', 'maximum faults per run', OF_EXPLORE),
  schedules: option(MANY, 'n', 'maximum number of runs', OF_EXPLORE),
  jobs: option(MANY, 'n=1', 'number of parallel runs', OF_EXPLORE),
  timeout: option(duration(), 'duration=60s', 'time limit of a run', OF_EXPLORE),
}

export const THROUGH = {
  through: option(text, 'base-url', 'judge against this server instead of a private store', {
    excludes: Object.keys({ ...STORE, ...RUN, ...EXPLORE, requireFaults: true })
      // The server may have pagination.
      .filter(name => name !== 'pagination'),
  }),
  apiKey: option(text, 'key', 'API key for the command', { needs: 'through' }),
}

export const VERIFY = {
  apiKey: option(text, 'key', 'API key; also ADOPTION_STORE_API_KEY'),
  spareApiKey: option(
    text,
    'key',
    'throwaway key for --exhaust; also ADOPTION_STORE_SPARE_API_KEY',
  ),
  exhaust: toggle('exhaust the spare key: 429, Retry-After, ban; up to eight minutes'),
  idempotency: toggle('also check Idempotency-Key'),
  readOnly: toggle('create no animals'),
  openapi: option(text, 'url', 'also check the description at this address, without the key'),
  only: option(list, 'id=', 'these checks or groups, such as auth; may be repeated'),
  skip: option(list, 'id=', 'not these checks or groups; may be repeated'),
  bail: toggle('stop at the first broken MUST'),
  list: toggle('print the checks and send nothing'),
  json: toggle('print the report as JSON'),
  junit: option(text, 'file.xml', 'write the report as JUnit XML'),
}

export const KEYS = {
  id: option(text, 'id', 'new: who the key belongs to; keys with one id share a budget'),
  plan: option(PLAN, 'plan', 'new: free, pro, business or enterprise'),
  expiresAt: option(instant, 'instant', 'new: when the key becomes invalid (never)'),
  perMinute: option(BUDGET, 'n', 'new: requests a minute, on enterprise'),
  perDay: option(BUDGET, 'n', 'new: requests a day, on enterprise'),
}

export const REPLAY = {
  until: option(wholeNumber(0, 999_999_999), 'n', 'the last step to replay (all)'),
  check: toggle('only compare, without a console', { excludes: ['port'] }),
  port: SERVER.port,
}

export type ServerSettings = SettingsOf<typeof SERVER>
export type StoreSettings = SettingsOf<typeof STORE>
export type ServeSettings = ServerSettings & StoreSettings
export type VerdictSettings = SettingsOf<typeof VERDICT>
export type ExecSettings = StoreSettings &
  VerdictSettings &
  SettingsOf<typeof RUN & typeof EXPLORE & typeof THROUGH>
export type DescribedSettings = SettingsOf<typeof DESCRIBED>
export type VerifySettings = SettingsOf<typeof VERIFY>
export type KeysSettings = SettingsOf<typeof KEYS>
export type ReplaySettings = SettingsOf<typeof REPLAY>
