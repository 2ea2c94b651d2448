import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { after, type TestContext } from 'node:test'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { served } from '../support/served.js'
import { temporaryFolder } from '../support/temporary-folder.js'
import { CHROMIUM, PATIENCE } from './chromium.js'

/** For the `skip` of a test: false, or what is missing. */
export const withoutChromium = CHROMIUM === undefined && 'no Chromium on this machine'

let launched: Promise<Browser> | undefined
after(async () => (await launched)?.close())

export function browser(): Promise<Browser> {
  launched ??= chromium.launch({
    executablePath: CHROMIUM ?? '',
    args: ['--no-sandbox'],
    timeout: PATIENCE,
  })
  return launched
}

/** Opens the page on a server of its own. */
export async function opened(
  t: TestContext,
  flags: readonly string[] = [],
  view = 'activity',
  options: BrowserContextOptions = {},
) {
  const server = await started(t, flags)
  return { ...server, ...(await openedAt(t, server.console, view, options)) }
}

export async function openedAt(
  t: TestContext,
  origin: string,
  view: string,
  options: BrowserContextOptions = {},
) {
  const context = await (await browser()).newContext({
    permissions: ['clipboard-read', 'clipboard-write'],
    ...options,
  })
  context.setDefaultTimeout(PATIENCE)
  const page = await context.newPage()
  watchProblems(t, page)
  t.after(() => context.close())
  await page.goto(origin)
  await page.getByText('Live', { exact: true }).waitFor()
  await page.goto(new URL(`#${view}`, origin).href)
  await page.getByText('Live', { exact: true }).waitFor()
  return { page }
}

export async function started(t: TestContext, flags: readonly string[]) {
  const { child, ready } = await served(t, ['--log', 'silent', ...flags])
  const { origin, baseUrl, console, control } = ready as Addresses
  const call: Call = (method, path, key, body) =>
    fetch(`${baseUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body }),
    })
  return { origin, baseUrl, console, control, call, stop: () => child.kill('SIGKILL') }
}

type Addresses = Record<'origin' | 'baseUrl' | 'console' | 'control', string>

export type Call = (method: string, path: string, key: string, body?: string) => Promise<Response>

/** A file with 60 keys: `key-0-secret` of `team-0`, and so on. */
export async function manyKeys(t: TestContext): Promise<string> {
  const keys = Array.from({ length: 60 }, (_, at) => [
    `key-${at}-secret`,
    { id: `team-${at}`, plan: 'free' },
  ])
  const path = join(temporaryFolder(t), 'keys.json')
  await writeFile(path, JSON.stringify(Object.fromEntries(keys)))
  return path
}

/** Fails a test whose page throws, or breaks its own policy. */
export function watchProblems(t: TestContext, page: Page): void {
  const problems: string[] = []
  page.on('pageerror', error => problems.push(String(error)))
  page.on('console', message => {
    if (/Content Security Policy/i.test(message.text())) problems.push(message.text())
  })
  t.after(() => assert.deepEqual(problems, []))
}

/**
 * axe finds no violation.
 *
 * @param part what axe looks at, in its own notation
 */
export async function assertAccessible(page: Page, state: string, part = ''): Promise<void> {
  await page.evaluate(await axe())
  const { violations } = (await page.evaluate(`axe.run(${part})`)) as {
    violations: { id: string; nodes: { failureSummary: string; html: string }[] }[]
  }
  const found = violations.map(({ id, nodes }) => [
    id,
    nodes.map(({ html, failureSummary }) => `${html.slice(0, 120)} ${failureSummary}`),
  ])
  assert.deepEqual(found, [], state)
}

function axe(): Promise<string> {
  return readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
}
