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
import { readDuration } from './duration.js'
import {
  digests,
  type Environment,
  isControlled,
  openEnvironment,
  readApiKeys,
  readDelay,
} from './environment.js'
import { type Flags, rateLimitMode, UsageError, wholeNumber } from './flags.js'
import { withHealth } from './health.js'
import { withIndex } from './index-page.js'
import { listenOn, type PortFlag } from './listen-on.js'
import { createNotes, type Notes } from './notes.js'
import { LOG_FORMATS, type LogFormat, withRequestLog } from './request-log.js'
import { type Stops, stopAll, stopOnFailure } from './stops.js'
import { version } from './version.js'
import { withoutUrl } from './without-secrets.js'

/** Stops the servers; on SIGTERM, after the time of `--drain`. */
export type Stop = (signal?: string) => Promise<void>

/**
 * Starts the servers that the flags describe, and announces them on stdout.
 *
 * @param stopOnSignal receives the function that stops it, before the announcement
 * @throws UsageError, and whatever a socket or a storage throws
 */
export async function serve(flags: Flags, stopOnSignal: (stop: Stop) => void): Promise<void> {
  const drain = readDrain(flags)
  const log = readLogFormat(flags)
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
  const running: Running = {
    log,
    notes,
    stops,
    draining: draining.signal,
    beforeReady: () => stopOnSignal(stop),
  }
  await stopOnFailure(stops, () => start(flags, running))
}

/** What all servers of one process share. */
interface Running {
  readonly log: LogFormat
  readonly notes: Notes
  /** What to stop, the last first. */
  readonly stops: Stops
  readonly draining: AbortSignal
  readonly beforeReady: () => void
}

async function start(flags: Flags, running: Running): Promise<void> {
  const { log, notes, stops, draining, beforeReady } = running
  notes.record('starting', { version: version(), node: process.version, pid: process.pid })
  const port = wholeNumber(flags, 'port', 65_535) ?? 4280
  const stagingPort = wholeNumber(flags, 'staging-port', 65_535)
  if (stagingPort === port && port !== 0) {
    throw new UsageError(
      `--staging-port ${port} is also --port; use a different one`,
      '--staging-port',
      '--port',
    )
  }
  const proxyHops = wholeNumber(flags, 'proxy-hops', 100) ?? 0
  const host = readHost(flags, proxyHops)
  const access = consoleAccess(flags, !LOOPBACK.test(host) || proxyHops > 0)
  if (flags.watch && flags.keys === undefined && (flags.store ?? 'memory:') !== 'memory:') {
    throw new UsageError(
      '--watch reloads --seed with --store memory: only; add --keys, or leave it',
      '--watch',
      '--store',
    )
  }
  // Before the files are read, so that no change in between is missed.
  const watched = flags.watch ? (await import('./reload.js')).watchedFiles(flags, notes) : undefined
  const apiKeys = await readApiKeys(flags)
  const metrics = flags.metrics ? (await import('./metrics.js')).createMetrics() : undefined
  if (metrics) stops.push(metrics.stop)
  if (metrics && flags['metrics-host'] !== undefined) {
    const address = readMetricsHost(flags['metrics-host'])
    const { close } = await listenOn(metrics.alone, { ...address, proxyHops: 0 }, 'metrics-host')
    stops.push(close)
  }

  // Staging is for experiments: its animals are separate, and lost when it stops.
  const staging =
    stagingPort === undefined
      ? undefined
      : await open({ ...flags, ...OWN }, 'staging-port', stagingPort)
  const production = await open(flags, 'port', port, staging?.server.url)
  const environments = [production.environment, ...(staging ? [staging.environment] : [])]
  if (watched) stops.push(watched.reloadInto(environments, apiKeys))

  const { server, environment } = production
  const ready: Ready = {
    baseUrl: server.url,
    origin: server.origin,
    apiKeys: flags.keys === undefined ? firstKeys(DEMO_KEYS) : {},
    store: environment.store,
    limits: environment.limits,
    animals: environment.animals,
    console: access ? `${server.origin}/${access.token ? `?token=${access.token}` : ''}` : null,
    control: isControlled(flags) ? `${server.origin}/_control` : null,
    pid: process.pid,
    ...(staging && { staging: { baseUrl: staging.server.url, origin: staging.server.origin } }),
  }
  const { source, store, animals, ignoresSeed } = environment
  if (ignoresSeed) notes.say('seed.ignored', `${store} holds ${animals} animals, ${source}`)
  beforeReady()
  const { apiKeys: _keys, console: _token, ...shown } = ready
  notes.record('ready', shown)
  if (flags.json) process.stdout.write(`${JSON.stringify(ready)}\n`)
  else if (!flags.quiet && log !== 'json') await printBanner(flags, ready, source)

  async function open(
    flags: Flags,
    portFlag: PortFlag,
    port: number,
    stagingBaseUrl?: string,
  ): Promise<{ readonly server: HttpServer; readonly environment: Environment }> {
    const environment = await openEnvironment(flags, apiKeys, stops, notes, metrics)
    const { handler, clock, backends } = environment
    const logged = withRequestLog(handler, {
      format: log,
      clock,
      // --watch may have replaced those of the start.
      keys: environment.console.apiKeys,
      ...(await digests(flags)),
      colors: hasColors(),
      write: writeLine,
    })
    const documented = withDocsOnDemand(logged, {
      pagination: flags.pagination,
      rateLimit: rateLimitMode(flags),
      idempotency: flags.idempotency !== undefined,
      demoKeys: flags.keys === undefined ? Object.keys(DEMO_KEYS) : [],
      stagingBaseUrl,
    })
    const indexed = withIndex(withHealth(documented, { ...backends, draining }, notes), {
      control: isControlled(flags),
    })
    const shown = access ? withConsole(indexed, { ...environment.console, ...access }) : indexed
    const observed = metrics && !flags['metrics-host'] ? metrics.beside(shown) : shown
    const server = await listenOn(observed, { host, port, proxyHops }, portFlag)
    stops.push(server.close)
    // Closed before the server: a request that waits on a frozen clock would never be answered.
    stops.push(async () => environment.double?.close())
    return { server, environment }
  }
}

/** A second environment shares no animals and no counters with the first. */
const OWN = { store: 'memory:', limits: 'memory:' }

async function printBanner(flags: Flags, ready: Ready, source: string): Promise<void> {
  const { banner } = await import('./banner.js')
  const { clock, keys, pagination, idempotency, watch } = flags
  const delay = readDelay(flags)
  const rateLimit = rateLimitMode(flags)
  const modes = [
    ...(rateLimit === false ? ['no rate limits'] : []),
    ...(rateLimit === 'shadow' ? ['limits in shadow mode: counted, never rejected'] : []),
    ...(flags['no-cors'] ? ['no CORS'] : []),
    ...(pagination ? ['pagination'] : []),
    ...(idempotency ? [`idempotency keys for ${idempotency}`] : []),
    ...(delay > 0 ? [`${delay} ms delay`] : []),
    ...(clock === undefined ? [] : [`clock frozen at ${clock}`]),
    ...(watch ? ['watching files'] : []),
  ]
  const details = {
    source,
    networkUrls: networkUrls(flags, ready),
    policies: rateLimit === false ? undefined : POLICIES,
    keysFile: keys,
    modes,
  }
  process.stdout.write(banner(ready, details))
}

/** With a `--host` that means all addresses, those of this machine that others can reach. */
function networkUrls({ host = '' }: Flags, { baseUrl }: Ready): readonly string[] {
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

/**
 * The console has no keys of its own: where others may reach the server, or the keys are not demo
 * keys, it is served on demand only, to those who know the token in its printed address.
 *
 * @returns undefined for no console
 */
function consoleAccess(flags: Flags, isShared: boolean): { readonly token?: string } | undefined {
  const { keys, quiet, json, log } = flags
  if (flags['no-console']) return undefined
  if (!isShared && keys === undefined) return {}
  if (!flags.console) return undefined
  if (json || !(quiet || log === 'json')) return { token: randomBytes(24).toString('base64url') }
  const flag = quiet ? '--quiet' : '--log json'
  throw new UsageError(
    `--console prints its address, and ${flag} does not show it; add --json`,
    '--console',
    '--json',
    '--quiet',
    '--log',
  )
}

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/

/** The demo keys are public: with them, only this machine may reach the server. */
function readHost(flags: Flags, proxyHops: number): string {
  const { host = '127.0.0.1', keys } = flags
  if (proxyHops > 0 && isControlled(flags)) {
    throw new UsageError(
      '--proxy-hops would let others use --control; use only one of them',
      '--proxy-hops',
      '--control',
      '--clock',
    )
  }
  if (LOOPBACK.test(host)) return host
  if (isControlled(flags)) {
    throw new UsageError(
      `--host ${withoutUrl(host)} would let others use --control; use 127.0.0.1`,
      '--host',
      '--control',
      '--clock',
    )
  }
  if (keys !== undefined) return host
  throw new UsageError(
    `--host ${withoutUrl(host)} would expose the demo keys; add --keys <file.json>, or use 127.0.0.1`,
    '--host',
  )
}

/** In ms; 0 for none. A timer beyond the longest possible one would end immediately. */
function readDrain({ drain = '0s' }: Flags): number {
  return readDuration('--drain', drain, { least: 0 })
}

/** A host, or a host and a port. */
function readMetricsHost(given: string): { readonly host: string; readonly port: number } {
  const { hostname, port, pathname } = URL.canParse(`http://${given}`)
    ? new URL(`http://${given}`)
    : { hostname: '', port: '', pathname: '' }
  if (hostname !== '' && pathname === '/') {
    // The port that exporters of OpenTelemetry use.
    return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? 9464 : Number(port) }
  }
  throw new UsageError(
    `--metrics-host takes <host> or <host>:<port>, got '${withoutUrl(given)}'`,
    '--metrics-host',
  )
}

function readLogFormat({ log = 'pretty', quiet }: Flags): LogFormat {
  const format = LOG_FORMATS.find(known => known === log)
  if (!format) {
    throw new UsageError(`--log takes ${LOG_FORMATS.join(', ')}, got '${withoutUrl(log)}'`, '--log')
  }
  return quiet ? 'silent' : format
}

/** https://no-color.org */
function hasColors(): boolean {
  return process.stderr.isTTY === true && !process.env['NO_COLOR']
}

function writeLine(line: string): void {
  process.stderr.write(`${line}\n`)
}
