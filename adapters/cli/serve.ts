import { randomBytes } from 'node:crypto'
import { networkInterfaces } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { chain, lazy } from '../../src/lib/async.js'
import { PLANS, type Plan, type Policy } from '../../src/limits/plans.js'
import type { ApiHandler } from '../../src/protocol/api.js'
import type { ApiKey } from '../../src/protocol/api-keys.js'
import { withConsole } from '../console/index.js'
import type { HttpServer } from '../http/listen.js'
import type { DocsOptions } from '../openapi/docs.js'
import { DEMO_KEYS } from '../test-double/demo-keys.js'
import type { Ready } from './banner.js'
import {
  digests,
  type Environment,
  isControlled,
  type Keys,
  openEnvironment,
  readApiKeys,
  readInitial,
} from './environment.js'
import { withHealth } from './health.js'
import { withIndex } from './index-page.js'
import { listenOn, type PortFlag } from './listen-on.js'
import type { Metrics } from './metrics.js'
import { createNotes, type Notes } from './notes.js'
import type { ServeSettings } from './options.js'
import { withRequestLog } from './request-log.js'
import { type Stops, stopAll, stopOnFailure } from './stops.js'
import { UsageError } from './usage-error.js'
import { version } from './version.js'
import { withoutSecrets, withoutUrl } from './without-secrets.js'

/** Stops the servers; on SIGTERM, after the time of `--drain`. */
export type Stop = (signal?: string) => Promise<void>

/**
 * Starts the servers that the settings describe, and announces them on stdout.
 *
 * @param stopOnSignal receives the function that stops it, before the announcement
 * @throws UsageError, and whatever a socket or a storage throws
 */
export async function serve(
  settings: ServeSettings,
  stopOnSignal: (stop: Stop) => void,
): Promise<void> {
  checkServe(settings)
  const { log, drain } = settings
  const notes = createNotes({ asJson: log === 'json', clock: Date.now, write: writeLine })
  const stops: Stops = []
  const draining = new AbortController()
  const stop: Stop = async signal => {
    if (signal === 'SIGTERM' && drain > 0) {
      notes.record('draining', { signal, ms: drain })
      draining.abort()
      await setTimeout(drain)
    }
    notes.record('stopping', { signal })
    await stopAll(stops)
    notes.record('stopped', {})
  }
  const beforeReady = () => stopOnSignal(stop)
  await stopOnFailure(stops, () =>
    start(settings, { notes, stops, draining: draining.signal, beforeReady }),
  )
}

/** What all servers of one process share. */
interface Running {
  readonly notes: Notes
  /** What to stop, the last first. */
  readonly stops: Stops
  readonly draining: AbortSignal
  readonly beforeReady: () => void
}

async function start(settings: ServeSettings, running: Running): Promise<void> {
  const { notes, stops, beforeReady } = running
  const { port, stagingPort, watch } = settings
  notes.record('starting', { version: version(), node: process.version, pid: process.pid })
  // Before the files are read, so that no change in between is missed.
  const watched = watch ? (await import('./reload.js')).watchedFiles(settings, notes) : undefined
  const apiKeys = await readApiKeys(settings)
  const metrics = await openMetrics(settings, stops)
  const shared: Shared = { ...running, apiKeys, metrics, access: consoleAccess(settings) }
  // Staging is for experiments: its animals are separate, and lost when it stops.
  const staging =
    stagingPort === undefined
      ? undefined
      : await open({ ...settings, ...OWN }, shared, 'staging-port', stagingPort)
  const production = await open(settings, shared, 'port', port, staging?.server.url)
  const environments = [production.environment, ...(staging ? [staging.environment] : [])]
  if (watched) stops.push(watched.reloadInto(environments, apiKeys))

  const ready = readyOf(settings, production, staging?.server, shared.access)
  const { source, store, animals, ignoresSeed } = production.environment
  if (ignoresSeed) notes.say('seed.ignored', `${store} holds ${animals} animals, ${source}`)
  beforeReady()
  const { apiKeys: _keys, console: _token, ...shown } = ready
  notes.record('ready', shown)
  if (settings.json) process.stdout.write(`${JSON.stringify(ready)}\n`)
  else if (!settings.quiet && settings.log !== 'json') await printBanner(settings, ready, source)
}

/** On the port of the API, or on an address of its own. */
async function openMetrics(
  { metrics: address }: ServeSettings,
  stops: Stops,
): Promise<Metrics | undefined> {
  if (address === undefined) return undefined
  const metrics = (await import('./metrics.js')).createMetrics()
  stops.push(metrics.stop)
  if (address !== 'on') {
    const { close } = await listenOn(metrics.alone, { ...address, proxyHops: 0 }, 'metrics')
    stops.push(close)
  }
  return metrics
}

/** What the environments of one process share. */
interface Shared extends Running {
  readonly apiKeys: Keys
  readonly metrics: Metrics | undefined
  readonly access: ConsoleAccess | undefined
}

interface Opened {
  readonly server: HttpServer
  readonly environment: Environment
}

async function open(
  settings: ServeSettings,
  { notes, stops, draining, apiKeys, metrics, access }: Shared,
  portFlag: PortFlag,
  port: number,
  stagingBaseUrl?: string,
): Promise<Opened> {
  const { host, proxyHops, log, quiet, keys, pagination, rateLimit, idempotency } = settings
  const environment = isControlled(settings)
    ? await openDouble(settings, apiKeys)
    : await openEnvironment(settings, apiKeys, stops, notes, metrics)
  const { handler, clock, backends } = environment
  const logged = withRequestLog(handler, {
    format: quiet ? 'silent' : log,
    clock,
    // --watch may have replaced those of the start.
    keys: environment.console.apiKeys,
    ...(await digests(settings)),
    colors: hasColors(),
    write: writeLine,
  })
  const documented = withDocsOnDemand(logged, {
    pagination,
    rateLimit,
    idempotency: idempotency !== undefined,
    demoKeys: keys === undefined ? Object.keys(DEMO_KEYS) : [],
    stagingBaseUrl,
  })
  const indexed = withIndex(withHealth(documented, { ...backends, draining }, notes), {
    control: isControlled(settings),
  })
  const shown = access ? withConsole(indexed, { ...environment.console, ...access }) : indexed
  const observed = metrics && settings.metrics === 'on' ? metrics.beside(shown) : shown
  const server = await listenOn(observed, { host, port, proxyHops }, portFlag)
  stops.push(server.close)
  // Closed before the server: a request that waits on a frozen clock would never be answered.
  stops.push(async () => environment.double?.close())
  return { server, environment }
}

async function openDouble(settings: ServeSettings, apiKeys: Keys): Promise<Environment> {
  const { openControlled } = await import('./controlled.js')
  return openControlled(settings, apiKeys, await readInitial(settings))
}

function readyOf(
  settings: ServeSettings,
  { server: { url: baseUrl, origin }, environment }: Opened,
  staging: HttpServer | undefined,
  access: ConsoleAccess | undefined,
): Ready {
  const { store, limits, animals } = environment
  return {
    baseUrl,
    origin,
    apiKeys: settings.keys === undefined ? firstKeys(DEMO_KEYS) : {},
    store,
    limits,
    animals,
    console: access ? `${origin}/${access.token ? `?token=${access.token}` : ''}` : null,
    control: isControlled(settings) ? `${origin}/_control` : null,
    pid: process.pid,
    ...(staging && { staging: { baseUrl: staging.url, origin: staging.origin } }),
  }
}

/** A second environment shares no animals and no counters with the first. */
const OWN = { store: 'memory:', limits: 'memory:' }

async function printBanner(settings: ServeSettings, ready: Ready, source: string): Promise<void> {
  const { banner } = await import('./banner.js')
  const { rateLimit, noCors, pagination, idempotency, delay, clock, keys, watch } = settings
  const modes = [
    rateLimit === false && 'no rate limits',
    rateLimit === 'shadow' && 'limits in shadow mode: counted, never rejected',
    noCors && 'no CORS',
    pagination && 'pagination',
    idempotency !== undefined && 'idempotency keys',
    delay > 0 && `${delay} ms delay`,
    clock !== undefined && `clock frozen at ${new Date(clock).toISOString()}`,
    watch && 'watching files',
  ]
  const details = {
    source,
    networkUrls: networkUrls(settings, ready),
    policies: rateLimit === false ? undefined : POLICIES,
    keysFile: keys,
    modes: modes.filter(mode => mode !== false),
  }
  process.stdout.write(banner(ready, details))
}

/** With a `--host` that means all addresses, those of this machine that others can reach. */
function networkUrls({ host }: ServeSettings, { baseUrl }: Ready): readonly string[] {
  if (!/^(0|0\.0\.0\.0|::)$/.test(host)) return []
  const { port, pathname } = new URL(baseUrl)
  return Object.values(networkInterfaces())
    .flatMap(addresses => addresses ?? [])
    .filter(({ family, internal }) => family === 'IPv4' && !internal)
    .map(({ address }) => `http://${address}:${port}${pathname}`)
}

const POLICIES: Readonly<Record<Plan, Policy>> = {
  ...PLANS,
  enterprise: DEMO_KEYS['demo-enterprise'].limits,
}

function firstKeys(keys: Readonly<Record<string, ApiKey>>): Partial<Record<Plan, string>> {
  return Object.fromEntries(Object.entries(keys).map(([key, { plan }]) => [plan, key]))
}

/** The pages are loaded on the first request outside the API. */
function withDocsOnDemand(handler: ApiHandler, options: DocsOptions): ApiHandler {
  const documented = lazy(async () => {
    const { withDocs } = await import('../openapi/docs.js')
    return withDocs(handler, options)
  })
  return {
    ...handler,
    handle: request =>
      request.path.startsWith(handler.basePath)
        ? handler.handle(request)
        : chain(documented(), docs => docs.handle(request)),
  }
}

interface ConsoleAccess {
  readonly token?: string
}

/**
 * The console has no keys of its own: where others may reach the server, or the keys are not demo
 * keys, it is served on demand only, to those who know the token in its printed address.
 *
 * @returns undefined for no console
 */
function consoleAccess(settings: ServeSettings): ConsoleAccess | undefined {
  const { host, proxyHops, keys, console, noConsole } = settings
  if (noConsole) return undefined
  if (LOOPBACK.test(host) && proxyHops === 0 && keys === undefined) return {}
  return console ? { token: randomBytes(24).toString('base64url') } : undefined
}

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/

/** Refuses combinations that would do nothing, or let others in. @throws UsageError */
function checkServe(settings: ServeSettings): void {
  checkAccess(settings)
  const { port, stagingPort, watch, seed, keys, store, limits, requireLimits } = settings
  if (stagingPort === port && port !== 0) {
    refuse(`--staging-port ${port} is also --port; use a different one`, 'staging-port', 'port')
  }
  if (watch && seed === undefined && keys === undefined) {
    refuse('--watch needs a file to watch: add --seed <file.json> or --keys <file.json>', 'watch')
  }
  if (watch && keys === undefined && store !== 'memory:') {
    refuse('--watch reloads --seed with --store memory: only; add --keys, or leave it', 'watch')
  }
  if (requireLimits && !/^(redis|valkey)/.test(limits)) {
    refuse('--require-limits needs counters on a server: add --limits redis://…', 'require-limits')
  }
}

/** The demo keys and the control commands are for this machine only. */
function checkAccess(settings: ServeSettings): void {
  const { host, proxyHops, keys, quiet, json, log } = settings
  const shown = withoutUrl(host)
  const isLocal = LOOPBACK.test(host)
  if (isControlled(settings) && (proxyHops > 0 || !isLocal)) {
    const [flag, instead] =
      proxyHops > 0 ? ['--proxy-hops', 'only one of them'] : [`--host ${shown}`, '127.0.0.1']
    const flags = ['host', 'proxy-hops', 'control', 'clock']
    refuse(`${flag} would let others use --control; use ${instead}`, ...flags)
  }
  for (const name of ['store', 'limits'] as const) {
    if (!isControlled(settings) || settings[name] === 'memory:') continue
    const message = `--control could reset ${withoutSecrets(settings[name])}; use it with --${name} memory:`
    refuse(message, 'control', 'clock', name)
  }
  if (!isLocal && keys === undefined) {
    const message = `--host ${shown} would expose the demo keys; add --keys <file.json>, or use 127.0.0.1`
    refuse(message, 'host')
  }
  if (!json && (quiet || log === 'json') && consoleAccess(settings)?.token !== undefined) {
    const flag = quiet ? '--quiet' : '--log json'
    const message = `--console prints its address, and ${flag} does not show it; add --json`
    refuse(message, 'console', 'json', 'quiet', 'log')
  }
}

function refuse(message: string, ...flags: readonly string[]): never {
  throw new UsageError(message, ...flags.map(flag => `--${flag}`))
}

/** https://no-color.org */
function hasColors(): boolean {
  return process.stderr.isTTY === true && !process.env['NO_COLOR']
}

function writeLine(line: string): void {
  process.stderr.write(`${line}\n`)
}
