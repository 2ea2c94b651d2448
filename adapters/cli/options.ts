import type { RateLimitMode } from '../../src/limits/mode.js'
import {
  addressOrOn,
  duration,
  instant,
  instantText,
  list,
  oneOf,
  option,
  type SettingsOf,
  text,
  toggle,
  wholeNumber,
} from './option.js'

const PORT = wholeNumber(0, 65_535)
const MANY = wholeNumber(1, 1_000_000)
const BUDGET = wholeNumber(1, 999_999_999_999_999)
const LOG_FORMAT = oneOf({ pretty: 'pretty', json: 'json', silent: 'silent' })
const MODE = oneOf<RateLimitMode>({ on: true, off: false, shadow: 'shadow' })
const LEVEL = oneOf({ findings: 'findings', notes: 'notes' })
const PLAN = oneOf({ free: 'free', pro: 'pro', business: 'business', enterprise: 'enterprise' })

/** Options of every command. */
export const GENERAL = {
  help: toggle('print this help', 'h'),
  version: toggle('print the version', 'v'),
}

export const SERVER = {
  port: option(PORT, 'n=4280', 'port to listen on; 0 picks a free one', { short: 'p' }),
  host: option(text, 'host=127.0.0.1', 'address to bind; beyond loopback it needs --keys'),
  store: option(text, 'store=memory:', 'memory:, x.json, x.sqlite, postgres://… or postgres:'),
  limits: option(text, 'limits=memory:', 'counters: memory:, sqlite:x, redis://… or redis:'),
  requireLimits: toggle('exit with 1 if the server of --limits is unreachable at startup'),
  proxyHops: option(wholeNumber(0, 100), 'n=0', 'trusted proxies in front, for X-Forwarded-For'),
  stagingPort: option(PORT, 'n', 'serve a second, separate store on this port'),
  console: toggle('also serve the console with --keys or on other hosts, behind a token'),
  noConsole: toggle('no console at / and no /_console'),
  watch: toggle('reload --seed and --keys when the files change'),
  drain: option(
    duration({ least: 0 }),
    'duration=0s',
    'how long to report "not ready" on SIGTERM before stopping',
  ),
  metrics: option(
    addressOrOn,
    'host:port',
    'GET /metrics for Prometheus: over loopback only, or on this address',
    { alone: 'on' },
  ),
  log: option(LOG_FORMAT, 'format=pretty', 'request log on stderr: pretty, json or silent'),
  quiet: toggle('no banner and no request log', 'q'),
  json: toggle('print one line of JSON on stdout when ready'),
}

export const STORE = {
  seed: option(text, 'file.json', 'animals for an empty store: an array of NewPet (demo data)'),
  empty: toggle('start without the demo animals'),
  keys: option(
    text,
    'file.json',
    'keys instead of the demo keys: {"<key>": {"id": "ci", "plan": "pro"}}',
  ),
  rateLimit: option(MODE, 'mode=on', 'on, off, or shadow: count and report, but reject nothing'),
  noCors: toggle('no CORS headers'),
  pagination: toggle('add ?after=<id> and Link: rel="next" to lists'),
  idempotency: option(
    duration({ most: Number.MAX_SAFE_INTEGER }),
    'duration',
    'store a create with an Idempotency-Key once, and keep the key (24h)',
    { alone: '24h' },
  ),
  delay: option(wholeNumber(0, 600_000), 'ms=0', 'wait before every response'),
  control: toggle('serve /_control: clock, faults, verdict, reset, snapshots'),
  clock: option(instant, 'instant', 'freeze the clock at this ISO instant; implies --control'),
}

/** What `openapi` describes. */
export const DESCRIBED = {
  keys: STORE.keys,
  rateLimit: STORE.rateLimit,
  pagination: STORE.pagination,
  idempotency: STORE.idempotency,
}

export const VERDICT = {
  strict: option(LEVEL, 'notes', 'exit with 1 on a finding (=notes: or note) or without any call', {
    alone: 'findings',
  }),
  allow: option(list, 'rule=', 'a rule that --strict forgives; may be repeated'),
  clients: option(MANY, 'n', 'how many clients share a key'),
  requireFaults: toggle('exit with 1 if an armed fault never fired'),
  report: option(text, 'file.json', 'write the verdict as JSON'),
  junit: option(text, 'file.xml', 'write the verdict as JUnit XML'),
}

export const RUN = {
  record: option(text, 'file.json', 'record the run, for replay and diff'),
  har: option(text, 'file.har', 'write the exchanges as an HTTP archive'),
  schedule: option(text, 'schedule', "run the command with these faults: 'createPet#1=reset'"),
}

/** Faults that take no time, as a command runs in real time. */
const FAULTS = 'reset,truncate,status:503,status:503-after,status:429'
const OF_EXPLORE = { needs: 'explore' }

export const EXPLORE = {
  explore: toggle('run the command again and again, each time with other faults'),
  faults: option(list, `fault=${FAULTS}`, 'what to try', OF_EXPLORE),
  depth: option(MANY, 'n=1', 'maximum faults per run', OF_EXPLORE),
  schedules: option(MANY, 'n', 'maximum number of runs', OF_EXPLORE),
  jobs: option(MANY, 'n=1', 'number of parallel runs', OF_EXPLORE),
  timeout: option(duration(), 'duration=60s', 'time limit of a run', OF_EXPLORE),
}

const OF_THROUGH = { needs: 'through' }

export const THROUGH = {
  through: option(text, 'base-url', 'judge against this server instead of a private store'),
  key: option(text, 'key', 'API key for the command', OF_THROUGH),
  keyEnv: option(text, 'NAME', 'environment variable that holds it', OF_THROUGH),
}

export const VERIFY = {
  key: option(text, 'key', 'API key'),
  keyEnv: option(text, 'NAME', 'environment variable that holds the API key'),
  spareKey: option(text, 'key', 'throwaway key for --limits'),
  spareKeyEnv: option(text, 'NAME', 'environment variable that holds the spare key'),
  limits: toggle('exhaust the spare key: 429, Retry-After, ban; up to eight minutes'),
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
  expires: option(instantText, 'instant', 'new: when the key becomes invalid (never)'),
  perMinute: option(BUDGET, 'n', 'new: requests a minute, on enterprise'),
  perDay: option(BUDGET, 'n', 'new: requests a day, on enterprise'),
}

export const REPLAY = {
  until: option(wholeNumber(0, 999_999_999), 'n', 'the last step to replay (all)'),
  check: toggle('only compare, without a console'),
  port: SERVER.port,
}

/** Pairs that contradict each other, and what to do instead. */
export const CONFLICTS: readonly (readonly [one: string, other: string, instead: string])[] = [
  ['empty', 'seed', 'use only one'],
  ['console', 'noConsole', 'use only one'],
  ['key', 'keyEnv', 'use only one'],
  ['spareKey', 'spareKeyEnv', 'use only one'],
  ['port', 'check', 'it opens no console'],
  ['explore', 'schedule', 'use only one'],
  ['explore', 'record', 'repeat one run with --schedule and add it there'],
  ['explore', 'har', 'repeat one run with --schedule and add it there'],
  [
    'explore',
    'requireFaults',
    'a run may not need every fault that the command arms, so run it once without --explore',
  ],
]

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
