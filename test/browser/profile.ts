import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { type Browser, type BrowserContext, chromium } from 'playwright-core'
import { CHROMIUM, PATIENCE } from './chromium.js'

/** A Chromium with its own profile on the disk, as a user has one. */
export interface Profile {
  readonly process: ChildProcess
  readonly browser: Browser
  readonly context: BrowserContext
  /** Where it serves its developer tools. */
  readonly devtools: string
}

export async function newProfile(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'adoption-chromium-'))
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }))
  return folder
}

/** @param folder of the profile, which may be one that was used before */
export async function startChromium(t: TestContext, folder: string): Promise<Profile> {
  const flags = ['--headless', '--no-sandbox', '--remote-debugging-port=0']
  const child = spawn(CHROMIUM ?? '', [...flags, `--user-data-dir=${folder}`, 'about:blank'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  for await (const line of createInterface(child.stderr)) {
    const [, host] = /^DevTools listening on ws:\/\/([^/]+)/.exec(line) ?? []
    if (host === undefined) continue
    // Later output must not fill the pipe.
    child.stderr.resume()
    const devtools = `http://${host}`
    const browser = await chromium.connectOverCDP(devtools, { timeout: PATIENCE })
    t.after(() => browser.close())
    const context = browser.contexts()[0] as BrowserContext
    context.setDefaultTimeout(PATIENCE)
    return { process: child, browser, context, devtools }
  }
  throw new Error('Chromium ended before it listened')
}
