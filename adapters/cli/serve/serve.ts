import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { overLoopback } from '../../http/loopback.js'
import { withConsole } from '../../pages/console/index.js'
import { DEMO_KEYS } from '../../test-double/demo-keys.js'
import { secretsOf } from '../../verdict/log/redact.js'
import type { Call, Stop } from '../commands.js'
import type { ServeSettings } from '../options.js'
import { print, printError } from '../print.js'
import { type Stops, stopAll, stopOnFailure } from '../shutdown.js'
import { UsageError, withoutSecrets } from '../usage-error.js'
import { version } from '../version.js'
import type { Ready } from './banner.js'
import { describedBy, withDocsOnDemand } from './docs-on-demand.js'
import { withServerPages } from './health.js'
import { listenOn, type PortFlag } from './listen-on-port.js'
import { createNotes, type Notes, withRequestLog } from './request-log.js'
import {
  controlToken,
  digests,
  type Environment,
  isControlled,
  LOOPBACK,
  openEnvironment,
  readApiKeys,
  readInitial,
} from './served-store.js'

export async function main(settings: ServeSettings, { stopOnSignal }: Call): Promise<void> {
  checkServe(settings)
  const { log, drain } = settings
  const notes = createNotes({ asJson: log === 'json', clock: Date.now, write: writeLine })
  if (log === 'json') {
    // Node prints warnings as text, such as that of `pg` about `sslmode=require`.
    process.removeAllListeners('warning').on('warning', ({ message }) => {
      notes.say('warning', message)
    })
  }
  const stops: Stops = []
  const draining = new AbortController()
  const stop: Stop = async signal => {
    if (signal === 'SIGTERM' && drain > 0) {
      notes.record('draining', { signal, durationMs: drain })
      draining.abort()
      await setTimeout(drain)
    }
    notes.record('stopping', { signal })
    await stopAll(stops)
    notes.record('stopped', {})
  }
  const { ready, source } = await stopOnFailure(stops, () =>
    start(settings, notes, stops, draining.signal),
  )
  // Before the announcement, which a script may answer with a signal.
  stopOnSignal(stop)
  const { apiKeys: _keys, console: _, control: __, ...shown } = ready
  notes.record('ready', shown)
  if (settings.json) print(`${JSON.stringify(ready)}\n`)
  else if (!settings.quiet && log !== 'json') {
    const { banner } = await import('./banner.js')
    print(banner(ready, source, settings))
  }
  if (settings.open) await openBrowser(ready.console ?? `${ready.origin}/docs`, notes, stops)
}

/** Opens a file that redirects, as `ps` would show a token in the browser's arguments. */
async function openBrowser(url: string, notes: Notes, stops: Stops): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'adoption-store-'))
  stops.push(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'console.html')
  await writeFile(file, `<meta http-equiv="refresh" content="0; url=${url}">`, { mode: 0o600 })
  const [command = '', ...words] = OPENERS[process.platform] ?? ['xdg-open']
  const browser = spawn(command, [...words, file], { detached: true, stdio: 'ignore' })
  browser.on('error', () =>
    notes.say('open.failed', 'no browser was found; open the address yourself'),
  )
  browser.unref()
}

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

async function start(settings: ServeSettings, notes: Notes, stops: Stops, draining: AbortSignal) {
  const { stagingPort, host, proxyHops, keepAlive: keepAliveTimeout, log, quiet } = settings
  notes.record('starting', { version: version(), node: process.version, pid: process.pid })
  const control = isControlled(settings)
  const isShown = hasConsole(settings)
  // Watching begins before the files are read, so that no change is missed.
  const reloads = settings.watch || (settings.keys !== undefined && !control)
  const watching = reloads && (await import('./watch-files.js')).watchFiles(settings, notes)
  if (watching) stops.push(watching.stop)
  const apiKeys = await readApiKeys(settings)
  const metrics = await openMetrics(settings, notes, stops)
  const token = controlToken()
  // For experiments: staging shares no animals and no counters, and is lost on exit.
  const own = { ...settings, store: 'memory:', rateLimitStore: 'memory:' }
  const staging =
    stagingPort === undefined
      ? undefined
      : await open({ ...own, port: stagingPort }, 'staging-port')
  const production = await open(settings, 'port', staging?.server.url)
  const { environment, animals, source } = production
  const { url: baseUrl, origin } = production.server
  if (watching) watching.reloadInto([environment, ...(staging ? [staging.environment] : [])])
  const { store, rateLimitStore } = environment
  const ready: Ready = {
    baseUrl,
    origin,
    apiKeys: settings.keys === undefined ? KEY_OF_PLAN : {},
    store,
    rateLimitStore,
    animals,
    console: isShown ? `${origin}/#token=${token}` : null,
    control: control ? `${origin}/_control/${token}` : null,
    ...(metrics && { metrics: metrics.url }),
    pid: process.pid,
    ...(staging && { staging: { baseUrl: staging.server.url, origin: staging.server.origin } }),
  }
  return { ready, source }

  async function openDouble(settings: ServeSettings): Promise<Environment> {
    const { openControlled } = await import('./controlled-store.js')
    return openControlled(settings, apiKeys, await readInitial(settings), token)
  }

  async function open(settings: ServeSettings, portFlag: PortFlag, stagingBaseUrl?: string) {
    const { port } = settings
    const environment = control
      ? await openDouble(settings)
      : await openEnvironment(settings, apiKeys, stops, notes, metrics)
    const logged = withRequestLog(environment.handler, {
      format: quiet ? 'silent' : log,
      clock: environment.clock,
      // A reload may have replaced the initial keys.
      keys: secretsOf(environment.console.apiKeys, [token]),
      ...(await digests(settings)),
      // https://no-color.org
      colors: process.stderr.isTTY === true && !process.env['NO_COLOR'],
      write: writeLine,
    })
    const documented = withDocsOnDemand(logged, { ...describedBy(settings), stagingBaseUrl })
    const paged = withServerPages(documented, { health: environment.health, draining, control })
    const shown = isShown ? withConsole(paged, { ...environment.console, token }) : paged
    const server = await listenOn(shown, { host, port, proxyHops, keepAliveTimeout }, portFlag)
    // Stop the double first: requests that wait on a frozen clock would never be answered.
    const stop = () => (draining.aborted ? server.drain(GRACE) : server.close())
    stops.push(stop, async () => environment.double?.close())
    return { server, environment, ...(await environment.fill()) }
  }
}

/** Time in ms for a proxy to close its idle connections first: only then is no request lost. */
const GRACE = 5_000

/** Metrics have their own address, to which no proxy of the API leads. */
async function openMetrics({ metrics: address }: ServeSettings, notes: Notes, stops: Stops) {
  if (address === undefined) return undefined
  const metrics = (await import('./metrics.js')).createMetrics(notes)
  const { handler } = metrics
  const reachable = LOOPBACK.test(address.host) ? overLoopback(handler) : handler
  const { origin, close } = await listenOn(reachable, address, 'metrics')
  stops.push(metrics.stop, close)
  return { ...metrics, url: origin + handler.basePath }
}

const KEY_OF_PLAN: Ready['apiKeys'] = Object.fromEntries(
  Object.entries(DEMO_KEYS).map(([key, { plan }]) => [plan, key]),
)

/** The console shows bodies: with real keys, or for other hosts, it is served on demand only. */
function hasConsole({ host, proxyHops, keys, console, noConsole }: ServeSettings): boolean {
  if (noConsole) return false
  return console || (LOOPBACK.test(host) && proxyHops === 0 && keys === undefined)
}

/** Refuses combinations that would do nothing, or let others in. @throws UsageError */
function checkServe(settings: ServeSettings): void {
  const { host, proxyHops, store, seed, keys, rateLimitStore, control } = settings
  if (settings.watch && seed === undefined && keys === undefined) {
    throw new UsageError('--watch needs a file: add --seed <file.json> or --keys <file.json>')
  }
  if (settings.requireRateLimitStore && !/^(redis|valkey)/.test(rateLimitStore)) {
    throw new UsageError(
      '--require-rate-limit-store needs counters on a server: add --rate-limit-store redis://…',
    )
  }
  if (!LOOPBACK.test(host) && keys === undefined) {
    const fix = 'add --keys <file.json>, or use 127.0.0.1'
    throw new UsageError(`--host ${withoutSecrets(host)} would expose the demo keys; ${fix}`)
  }
  if (!isControlled(settings)) return
  const flag = control ? '--control' : '--time'
  const problems = [
    proxyHops > 0 && `--proxy-hops would let others use ${flag}; use only one of them`,
    ...Object.entries({ store, rateLimitStore }).map(
      ([name, used]) =>
        used !== 'memory:' &&
        `${flag} could reset ${withoutSecrets(used)}; use it with --${name} memory:`,
    ),
  ]
  const problem = problems.find(text => text !== false)
  if (problem !== undefined) throw new UsageError(problem)
}

function writeLine(line: string): void {
  printError(`${line}\n`)
}
