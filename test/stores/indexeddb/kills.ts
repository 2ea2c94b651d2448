import { once } from 'node:events'
import type { TestContext } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import type { Pet } from '../../../src/index.js'
import { newProfile, startChromium } from '../../browser/profile.js'
import { createRecord, type Outcome, type Record } from './record.js'

/** A worker starts sooner than a tab, so more of them are killed. */
const KINDS = [
  ...Array(3).fill('terminate a worker'),
  ...['close a tab', 'crash a tab', 'kill the processes of all tabs'],
]

/** A tab that creates animals, with a worker that does, too. */
interface Tab {
  readonly page: Page
  /** Its own name, and that of its worker. */
  readonly owners: [tab: string, worker: string]
}

/** Two tabs and their workers create animals, with and without keys; again and again one of them is killed. */
export async function killTabs(
  t: TestContext,
  origin: string,
  kills: number,
  seed: number,
): Promise<Outcome & { readonly kinds: object }> {
  const record = createRecord(seed)
  const { random } = record
  const { browser, context } = await startChromium(t, await newProfile(t))
  await context.exposeBinding('report', (_, line: string) => record.note(line))
  const system = await browser.newBrowserCDPSession()
  const open = () => openTab(context, origin, record)
  const tabs: Tab[] = [await open(), await open()]
  const kinds: { [kind: string]: number } = {}

  for (let n = 0; n < kills; n++) {
    const kind: string = KINDS[random(KINDS.length)]
    const tab = tabs[random(tabs.length)] as Tab
    const isWorker = kind === 'terminate a worker'
    const owner = tab.owners[isWorker ? 1 : random(2)] as string
    await record.reaches(owner, 1 + random(4))
    kinds[kind] = (kinds[kind] ?? 0) + 1
    if (isWorker) {
      await tab.page.evaluate('worker.terminate()')
      record.bury(owner)
      tab.owners[1] = await startWorker(tab.page, record)
    } else if (kind === 'close a tab') await replace([tab])
    else if (kind === 'crash a tab') {
      const devtools = await context.newCDPSession(tab.page)
      devtools.send('Page.crash').catch(() => {})
      await tab.page.waitForEvent('crash')
      await replace([tab])
    } else {
      const crashes = tabs.map(({ page }) => page.waitForEvent('crash'))
      const { processInfo } = await system.send('SystemInfo.getProcessInfo')
      for (const { type, id } of processInfo) if (type === 'renderer') process.kill(id, 'SIGKILL')
      await Promise.all(crashes)
      await replace([...tabs])
    }
  }
  for (const { page } of tabs) await page.close()
  return { kinds, ...record.compare(await readPets(context, origin)) }

  async function replace(killed: readonly Tab[]): Promise<void> {
    for (const tab of killed) {
      await tab.page.close()
      for (const owner of tab.owners) record.bury(owner)
      tabs[tabs.indexOf(tab)] = await open()
    }
  }
}

/**
 * The same for the whole browser, which starts again with its profile. Chromium empties a database that it cannot
 * open, in 2 of about 300 starts, under load; the rest of the run has a new one.
 */
export async function killBrowsers(
  t: TestContext,
  origin: string,
  kills: number,
  seed: number,
): Promise<Outcome & { readonly emptied: number }> {
  const record = createRecord(seed)
  const profile = await newProfile(t)
  let emptied = 0
  const start = async () => {
    const chromium = await startChromium(t, profile)
    const pets = await readPets(chromium.context, origin)
    if (pets.length === 0 && record.forget()) emptied++
    return { chromium, pets }
  }
  for (let n = 0; n < kills; n++) {
    const { chromium } = await start()
    await chromium.context.exposeBinding('report', (_, line: string) => record.note(line))
    const { owners } = await openTab(chromium.context, origin, record)
    for (const owner of owners) await record.reaches(owner, 1 + record.random(9))
    chromium.process.kill('SIGKILL')
    await once(chromium.process, 'exit')
    for (const owner of owners) record.bury(owner)
  }
  return { ...record.compare((await start()).pets), emptied }
}

async function openTab(context: BrowserContext, origin: string, record: Record): Promise<Tab> {
  const page = await newPage(context, origin)
  const task = record.newTask()
  await page.evaluate(`void import('/program.mjs').then(({ createForever }) =>
    createForever(${JSON.stringify(task)}, report))`)
  return { page, owners: [task.owner, await startWorker(page, record)] }
}

async function startWorker(page: Page, record: Record): Promise<string> {
  const task = record.newTask()
  await page.evaluate(`
    globalThis.worker = new Worker('/creating.mjs', { type: 'module' })
    worker.onmessage = ({ data }) => report(data)
    worker.postMessage(${JSON.stringify(task)})`)
  return task.owner
}

async function readPets(context: BrowserContext, origin: string): Promise<Pet[]> {
  const page = await newPage(context, origin)
  return page.evaluate(`import('/program.mjs').then(async ({ indexedDbStorage }) =>
    (await indexedDbStorage('pets', { timeout: 600_000 }).dump()).pets)`)
}

async function newPage(context: BrowserContext, origin: string): Promise<Page> {
  const page = await context.newPage()
  await page.goto(origin)
  return page
}
