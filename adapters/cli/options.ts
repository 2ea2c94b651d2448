import type { RateLimitMode } from '../../src/limits/mode.js'
import type { Plan } from '../../src/limits/plans.js'
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

/** Options of every command. */
export const GENERAL = {
  help: toggle('print this help', { short: 'h' }),
  version: toggle('print the version', { short: 'v' }),
}

export const SERVER = {
  port: option(PORT, {
    short: 'p',
    value: 'n',
    default: '4280',
    help: 'port to listen on; 0 picks a free one',
  }),
  host: option(text, {
    value: 'host',
    default: '127.0.0.1',
    help: 'address to bind; beyond loopback it needs --keys',
  }),
  store: option(text, {
    value: 'store',
    default: 'memory:',
    help: 'memory:, x.json, x.sqlite, postgres://… or postgres:',
  }),
  limits: option(text, {
    value: 'limits',
    default: 'memory:',
    help: 'counters: memory:, sqlite:x, redis://… or redis:',
  }),
  requireLimits: toggle('exit with 1 if the server of --limits is unreachable at startup'),
  proxyHops: option(wholeNumber(0, 100), {
    value: 'n',
    default: '0',
    help: 'trusted proxies in front, for X-Forwarded-For',
  }),
  stagingPort: option(PORT, { value: 'n', help: 'serve a second, separate store on this port' }),
  console: toggle('also serve the console with --keys or on other hosts, behind a token'),
  noConsole: toggle('no console at / and no /_console'),
  watch: toggle('reload --seed and --keys when the files change'),
  drain: option(duration({ least: 0 }), {
    value: 'duration',
    default: '0s',
    help: 'how long to report "not ready" on SIGTERM before stopping',
  }),
  metrics: option(addressOrOn, {
    value: 'host:port',
    alone: 'on',
    help: 'GET /metrics for Prometheus: over loopback only, or on this address',
  }),
  log: option(oneOf({ pretty: 'pretty', json: 'json', silent: 'silent' }), {
    value: 'format',
    default: 'pretty',
    help: 'request log on stderr: pretty, json or silent',
  }),
  quiet: toggle('no banner and no request log', { short: 'q' }),
  json: toggle('print one line of JSON on stdout when ready'),
}

export const STORE = {
  seed: option(text, {
    value: 'file.json',
    help: 'animals for an empty store: an array of NewPet (demo data)',
  }),
  empty: toggle('start without the demo animals'),
  keys: option(text, {
    value: 'file.json',
    help: 'keys instead of the demo keys: {"<key>": {"id": "ci", "plan": "pro"}}',
  }),
  rateLimit: option<RateLimitMode>(oneOf({ on: true, off: false, shadow: 'shadow' }), {
    value: 'mode',
    default: 'on',
    help: 'on, off, or shadow: count and report, but reject nothing',
  }),
  noCors: toggle('no CORS headers'),
  pagination: toggle('add ?after=<id> and Link: rel="next" to lists'),
  idempotency: option(duration({ most: Number.MAX_SAFE_INTEGER }), {
    value: 'duration',
    alone: '24h',
    help: 'store a create with an Idempotency-Key once, and keep the key (24h)',
  }),
  delay: option(wholeNumber(0, 600_000), {
    value: 'ms',
    default: '0',
    help: 'wait before every response',
  }),
  control: toggle('serve /_control: clock, faults, verdict, reset, snapshots'),
  clock: option(instant, {
    value: 'instant',
    help: 'freeze the clock at this ISO instant; implies --control',
  }),
}

/** What `openapi` describes. */
export const DESCRIBED = {
  keys: STORE.keys,
  rateLimit: STORE.rateLimit,
  pagination: STORE.pagination,
  idempotency: STORE.idempotency,
}

export const VERDICT = {
  strict: option(oneOf({ findings: 'findings', notes: 'notes' }), {
    value: 'notes',
    alone: 'findings',
    help: 'exit with 1 on a finding (=notes: or note) or without any call',
  }),
  allow: option(list, {
    value: 'rule',
    default: '',
    isList: true,
    help: 'a rule that --strict forgives; may be repeated',
  }),
  clients: option(MANY, { value: 'n', help: 'how many clients share a key' }),
  requireFaults: toggle('exit with 1 if an armed fault never fired'),
  report: option(text, { value: 'file.json', help: 'write the verdict as JSON' }),
  junit: option(text, { value: 'file.xml', help: 'write the verdict as JUnit XML' }),
}

export const RUN = {
  record: option(text, { value: 'file.json', help: 'record the run, for replay and diff' }),
  har: option(text, { value: 'file.har', help: 'write the exchanges as an HTTP archive' }),
  schedule: option(text, {
    value: 'schedule',
    help: "run the command with these faults: 'createPet#1=reset'",
  }),
}

export const EXPLORE = {
  explore: toggle('run the command again and again, each time with other faults'),
  faults: option(text, {
    value: 'fault',
    // Those that take no time: a command runs in real time.
    default: 'reset,truncate,status:503,status:503-after,status:429',
    isList: true,
    needs: 'explore',
    help: 'what to try',
  }),
  depth: option(MANY, {
    value: 'n',
    default: '1',
    needs: 'explore',
    help: 'maximum faults per run',
  }),
  schedules: option(MANY, { value: 'n', needs: 'explore', help: 'maximum number of runs' }),
  jobs: option(MANY, {
    value: 'n',
    default: '1',
    needs: 'explore',
    help: 'number of parallel runs',
  }),
  timeout: option(duration(), {
    value: 'duration',
    default: '60s',
    needs: 'explore',
    help: 'time limit of a run',
  }),
}

export const THROUGH = {
  through: option(text, {
    value: 'base-url',
    help: 'judge against this server instead of a private store',
  }),
  key: option(text, { value: 'key', needs: 'through', help: 'API key for the command' }),
  keyEnv: option(text, {
    value: 'NAME',
    needs: 'through',
    help: 'environment variable that holds it',
  }),
}

export const VERIFY = {
  key: option(text, { value: 'key', help: 'API key' }),
  keyEnv: option(text, { value: 'NAME', help: 'environment variable that holds the API key' }),
  spareKey: option(text, { value: 'key', help: 'throwaway key for --limits' }),
  spareKeyEnv: option(text, {
    value: 'NAME',
    help: 'environment variable that holds the spare key',
  }),
  limits: toggle('exhaust the spare key: 429, Retry-After, ban; up to eight minutes'),
  idempotency: toggle('also check Idempotency-Key'),
  readOnly: toggle('create no animals'),
  openapi: option(text, {
    value: 'url',
    help: 'also check the description at this address, without the key',
  }),
  only: option(list, {
    value: 'id',
    default: '',
    isList: true,
    help: 'these checks or groups, such as auth; may be repeated',
  }),
  skip: option(list, {
    value: 'id',
    default: '',
    isList: true,
    help: 'not these checks or groups; may be repeated',
  }),
  bail: toggle('stop at the first broken MUST'),
  list: toggle('print the checks and send nothing'),
  json: toggle('print the report as JSON'),
  junit: option(text, { value: 'file.xml', help: 'write the report as JUnit XML' }),
}

const PLANS: Readonly<Record<Plan, Plan>> = {
  free: 'free',
  pro: 'pro',
  business: 'business',
  enterprise: 'enterprise',
}
const BUDGET = wholeNumber(1, 999_999_999_999_999)

export const KEYS = {
  id: option(text, {
    value: 'id',
    help: 'new: who the key belongs to; keys with one id share a budget',
  }),
  plan: option(oneOf(PLANS), {
    value: 'plan',
    help: 'new: free, pro, business or enterprise',
  }),
  expires: option(instantText, {
    value: 'instant',
    help: 'new: when the key becomes invalid (never)',
  }),
  perMinute: option(BUDGET, { value: 'n', help: 'new: requests a minute, on enterprise' }),
  perDay: option(BUDGET, { value: 'n', help: 'new: requests a day, on enterprise' }),
}

export const REPLAY = {
  until: option(wholeNumber(0, 999_999_999), {
    value: 'n',
    help: 'the last step to replay (all)',
  }),
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
