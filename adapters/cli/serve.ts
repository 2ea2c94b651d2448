import type { ApiHandler } from '../../src/api.js'
import type { ApiKey } from '../../src/api-keys.js'
import { chain } from '../../src/awaitable.js'
import { lazy } from '../../src/lazy.js'
import { PLANS, type Plan, type Policy } from '../../src/plans.js'
import { DEMO_KEYS } from '../demo-keys.js'
import type { DocsOptions } from '../docs.js'
import { type HttpServer, listen } from '../http/listen.js'
import type { Ready } from './banner.js'
import { type Environment, isControlled, keysOf, openEnvironment } from './environment.js'
import { type Flags, UsageError, wholeNumber } from './flags.js'
import { withHealth } from './health.js'
import { createReport } from './report.js'
import { LOG_FORMATS, type LogFormat, withRequestLog } from './request-log.js'

/**
 * Starts what the flags ask for, and says so on stdout.
 *
 * @param stopOnSignal receives the way to stop it before anybody can read that it is ready
 * @throws UsageError for invalid usage, and whatever a socket or a storage throws
 */
export async function serve(
  flags: Flags,
  stopOnSignal: (stop: () => Promise<void>) => void,
): Promise<void> {
  const stops: (() => Promise<void>)[] = []
  const stop = async () => {
    for (const one of stops.splice(0).reverse()) await one()
  }
  try {
    await start(flags, stops, () => stopOnSignal(stop))
  } catch (error) {
    await stop()
    throw error
  }
}

async function start(
  flags: Flags,
  stops: (() => Promise<void>)[],
  beforeReady: () => void,
): Promise<void> {
  const port = wholeNumber(flags, 'port', 65_535) ?? 4280
  const stagingPort = wholeNumber(flags, 'staging-port', 65_535)
  const log = logFormat(flags)
  const host = hostOf(flags)
  const proxyHops = wholeNumber(flags, 'proxy-hops', 100) ?? 0
  const apiKeys = await keysOf(flags)
  const report = createReport(Date.now, writeLogLine)

  // Staging is for trying things out: its animals are its own, and gone when it stops.
  const staging =
    stagingPort === undefined ? undefined : await open({ ...flags, ...OWN }, stagingPort)
  const production = await open(flags, port, staging?.server.url)

  const ready: Ready = {
    baseUrl: production.server.url,
    origin: production.server.origin,
    apiKeys: flags.keys === undefined ? firstKeys(DEMO_KEYS) : {},
    store: production.store,
    limits: production.limits,
    animals: production.animals,
    control: isControlled(flags) ? `${production.server.origin}/_control` : null,
    pid: process.pid,
    ...(staging && { staging: { baseUrl: staging.server.url, origin: staging.server.origin } }),
  }
  beforeReady()
  if (flags.json) process.stdout.write(`${JSON.stringify(ready)}\n`)
  else if (!flags.quiet) {
    const animalsFrom = production.from
    const told = { animalsFrom, policies: POLICIES, keysFrom: flags.keys }
    const { banner } = await import('./banner.js')
    process.stdout.write(banner(ready, told))
  }

  async function open(flags: Flags, port: number, stagingBaseUrl?: string): Promise<Opened> {
    const environment = await openEnvironment(flags, apiKeys, stops, report)
    const { handler, clock, double, engines } = environment
    const logged = withRequestLog(handler, log, clock, writeLogLine)
    const documented = withDocsOnDemand(logged, {
      pagination: flags.pagination,
      rateLimit: !flags['no-rate-limit'],
      demoKeys: flags.keys === undefined ? Object.keys(DEMO_KEYS) : [],
      stagingBaseUrl,
    })
    const server = await listenOn(withHealth(documented, engines, report), {
      host,
      port,
      proxyHops,
    })
    stops.push(server.close)
    // First of all: who waits on a clock that stands still would never be answered.
    if (double) stops.push(double.close)
    return { ...environment, server }
  }
}

/** A second environment shares no animals and no counters with the first. */
const OWN = { store: 'memory:', limits: 'memory:' }

interface Opened extends Environment {
  readonly server: HttpServer
}

const POLICIES: Readonly<Record<Plan, Policy>> = {
  ...PLANS,
  enterprise: DEMO_KEYS['demo-enterprise'].limits,
}

function firstKeys(keys: Readonly<Record<string, ApiKey>>): Partial<Record<Plan, string>> {
  return Object.fromEntries(Object.entries(keys).map(([key, { plan }]) => [plan, key]))
}

/** The pages are read when somebody first asks for something outside the API. */
function withDocsOnDemand(handler: ApiHandler, options: DocsOptions): ApiHandler {
  const documented = lazy(async () => {
    const { withDocs } = await import('../docs.js')
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

/** The demo keys are known to everyone: with them nothing but this machine may reach the server. */
function hostOf(flags: Flags): string {
  const { host = '127.0.0.1', keys } = flags
  if (/^(localhost|127\.\d+\.\d+\.\d+|::1)$/.test(host)) return host
  if (isControlled(flags)) {
    throw new UsageError(`--host ${host} would let others use --control; use 127.0.0.1`)
  }
  if (keys !== undefined) return host
  throw new UsageError(
    `--host ${host} would show the demo keys to others; add --keys <file.json>, or use 127.0.0.1`,
  )
}

function logFormat({ log = 'pretty', quiet }: Flags): LogFormat {
  const format = LOG_FORMATS.find(known => known === log)
  if (!format) throw new UsageError(`--log takes ${LOG_FORMATS.join(', ')}, got '${log}'`)
  return quiet ? 'silent' : format
}

async function listenOn(
  handler: ApiHandler,
  options: { readonly host: string; readonly port: number; readonly proxyHops: number },
): Promise<HttpServer> {
  const { host, port } = options
  try {
    return await listen(handler, options)
  } catch (error) {
    const fix = LISTEN_FIXES.get((error as NodeJS.ErrnoException).code ?? '')
    throw fix ? new Error(fix(host, port)) : error
  }
}

const LISTEN_FIXES = new Map<string, (host: string, port: number) => string>([
  ['EADDRINUSE', (_, port) => `port ${port} is taken; use --port 0 to pick a free one`],
  ['EACCES', (_, port) => `port ${port} is not allowed here; use --port 0 to pick a free one`],
  ['EADDRNOTAVAIL', host => `${host} is no address of this machine; use --host 127.0.0.1`],
  ['ENOTFOUND', host => `${host} is no known host; use --host 127.0.0.1`],
])

function writeLogLine(line: string): void {
  process.stderr.write(`${line}\n`)
}
