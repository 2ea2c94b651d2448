import { EventEmitter, once } from 'node:events'
import type { CDPSession, Page } from 'playwright-core'
import type { Pet } from '../../src/index.js'
import type { Profile } from '../browser/profile.js'
import { createRandom } from '../crash/random.js'
import type { Progress, Task } from './creates.js'

export const KINDS = ['close a tab', 'crash a tab', 'terminate a worker', 'kill renderers'] as const
type Kind = (typeof KINDS)[number]

export interface Outcome {
  readonly kills: Readonly<Record<string, number>>
  readonly acknowledged: number
  /** Creates that were sent again with their key. */
  readonly repeated: number
  readonly lost: number
  readonly doubled: number
  /** Ids that no animal has, below the last one. */
  readonly gaps: number
}

/** What was acknowledged, and what has begun without an answer. */
export function createRecord() {
  const acknowledged = new Map<number, string>()
  const pending = new Map<string, Progress>()
  const counts = new Map<string, number>()
  const progress = new EventEmitter()
  let twice = 0
  return {
    progress,
    note(line: string): void {
      const { owner, name, id }: Progress = JSON.parse(line)
      if (id === undefined) pending.set(name, { owner, name })
      else {
        if (acknowledged.has(id) && acknowledged.get(id) !== name) twice++
        acknowledged.set(id, name)
        pending.delete(name)
        counts.set(owner, (counts.get(owner) ?? 0) + 1)
        progress.emit(owner)
      }
    },
    /** Resolves once an owner was acknowledged so many animals. */
    async reaches(owner: string, count: number): Promise<void> {
      while ((counts.get(owner) ?? 0) < count) await once(progress, owner)
    },
    /** The names of a killed owner that nobody acknowledged. */
    takePending(owner: string): string[] {
      const names = [...pending.values()].filter(one => one.owner === owner).map(one => one.name)
      for (const name of names) pending.delete(name)
      return names
    },
    compare(pets: readonly Pet[]): Omit<Outcome, 'kills' | 'repeated'> {
      const stored = new Map(pets.map(({ id, name }) => [id, name]))
      const lost = [...acknowledged].filter(([id, name]) => stored.get(id) !== name).length
      const doubled = twice + pets.length - new Set(stored.values()).size
      const gaps = (pets.at(-1)?.id ?? 0) - pets.length
      return { acknowledged: acknowledged.size, lost, doubled, gaps }
    },
  }
}

/** A tab that creates animals, with a worker that does, too. */
interface Tab {
  readonly page: Page
  readonly devtools: CDPSession
  /** Its own name, and that of its worker. */
  readonly owners: string[]
}

/**
 * Two tabs and their workers create animals, with and without keys, while one of them after the other
 * is killed.
 */
export async function killWhileCreating(
  { browser, context }: Profile,
  origin: string,
  kills: number,
  seed: number,
): Promise<Outcome> {
  const random = createRandom(seed)
  const record = createRecord()
  const killed: Record<string, number> = {}
  const again: string[] = []
  const keyed = new Set<string>()
  let repeated = 0
  let owners = 0
  await context.exposeBinding('report', (_, line: string) => record.note(line))
  const system = await browser.newBrowserCDPSession()
  const tabs: Tab[] = [await openTab(), await openTab()]

  for (let n = 0; n < kills; n++) {
    const kind = KINDS[random(KINDS.length)] as Kind
    const at = random(tabs.length)
    const tab = tabs[at] as Tab
    const owner = tab.owners[kind === 'terminate a worker' ? 1 : random(2)] as string
    await record.reaches(owner, 1 + random(4))
    killed[kind] = (killed[kind] ?? 0) + 1
    if (kind === 'terminate a worker') {
      await tab.page.evaluate('worker.terminate()')
      bury(owner)
      tab.owners[1] = await startWorker(tab.page)
    } else if (kind === 'kill renderers') {
      const crashes = tabs.map(({ page }) => page.waitForEvent('crash'))
      for (const pid of await renderers()) process.kill(pid, 'SIGKILL')
      await Promise.all(crashes)
      for (const place of tabs.keys()) await replace(place)
    } else {
      if (kind === 'crash a tab') {
        const crash = tab.page.waitForEvent('crash')
        tab.devtools.send('Page.crash').catch(() => {})
        await crash
      }
      await replace(at)
    }
  }

  const page = await newPage()
  for (const tab of tabs) await tab.page.close()
  const dump = await page.evaluate(`import('/program.mjs').then(async ({ indexedDbStorage }) =>
    indexedDbStorage('pets').dump())`)
  await page.close()
  return { kills: killed, repeated, ...record.compare((dump as { pets: Pet[] }).pets) }

  async function openTab(): Promise<Tab> {
    const page = await newPage()
    const devtools = await context.newCDPSession(page)
    const task = newTask()
    await page.evaluate(`void import('/program.mjs').then(({ createForever }) =>
      createForever(${JSON.stringify(task)}, report))`)
    return { page, devtools, owners: [task.owner, await startWorker(page)] }
  }

  async function startWorker(page: Page): Promise<string> {
    const task = newTask()
    await page.evaluate(`
      globalThis.worker = new Worker('/creating.mjs', { type: 'module' })
      worker.onmessage = ({ data }) => report(data)
      worker.postMessage(${JSON.stringify(task)})`)
    return task.owner
  }

  async function newPage(): Promise<Page> {
    const page = await context.newPage()
    await page.goto(origin)
    return page
  }

  function newTask(): Task {
    const owner = `owner ${owners++}`
    const isKeyed = random(2) === 0
    if (!isKeyed) return { owner, isKeyed, again: [] }
    keyed.add(owner)
    const names = again.splice(0)
    repeated += names.length
    return { owner, isKeyed, again: names }
  }

  function bury(owner: string): void {
    const names = record.takePending(owner)
    if (keyed.has(owner)) again.push(...names)
  }

  async function replace(at: number): Promise<void> {
    const { page, owners } = tabs[at] as Tab
    await page.close()
    for (const owner of owners) bury(owner)
    tabs[at] = await openTab()
  }

  /** The processes of tabs. */
  async function renderers(): Promise<number[]> {
    const answer = await system.send('SystemInfo.getProcessInfo')
    return answer.processInfo.flatMap(({ type, id }) => (type === 'renderer' ? [id] : []))
  }
}
