import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { freePort } from '../engines/engines.js'
import {
  assertAccessible,
  type Call,
  manyKeys,
  openedAt,
  started,
  withoutChromium,
} from './console-page.js'

const LONG = process.env['ADOPTION_STORE_CHAOS'] === 'long'
/** CI keeps the files in this folder. */
const SCREENSHOTS = process.env['SCREENSHOTS']

interface State {
  readonly name: string
  /** After `#`. */
  readonly place: string
  readonly sign: string
  readonly reach?: (page: Page) => Promise<void>
}

/** With requests, findings and a fault. */
const STATES: readonly State[] = [
  { name: 'failure', place: 'activity?request=105', sign: 'Arm a fault like this' },
  { name: 'success', place: 'activity?request=104', sign: 'Fail the next one' },
  {
    name: 'edit',
    place: 'activity?request=105',
    sign: 'Path and query',
    reach: page => page.getByRole('button', { name: 'Edit and resend' }).click(),
  },
  { name: 'equal', place: 'activity?request=40', sign: 'Copy as curl' },
  { name: 'unfolded', place: 'activity?fold=no&keyId=demo-free', sign: 'Show all' },
  { name: 'found', place: 'activity?search=limt', sign: '1 of' },
  { name: 'link', place: 'activity?status=ok&request=105', sign: 'Arm a fault like this' },
  { name: 'gone', place: 'activity?request=9999', sign: 'no longer kept' },
  { name: 'none-found', place: 'activity?search=nothing', sign: 'No request matches' },
  { name: 'animals', place: 'animals', sign: '42 animals' },
  { name: 'from', place: 'animals?from=7', sign: '36 animals from this id on' },
  { name: 'no-animals', place: 'animals?search=nothing&status=sold', sign: 'No such animals.' },
  { name: 'test', place: 'test', sign: 'deprecated.called' },
  { name: 'start', place: 'start', sign: 'Make a mistake' },
  {
    name: 'keys-help',
    place: 'activity',
    sign: '/ searches, arrows',
    reach: page => page.keyboard.press('?'),
  },
  // The server stops after this one.
  { name: 'activity', place: 'activity', sign: 'did you mean' },
]

/** The page opens a server that is started again. */
process.env['ADOPTION_STORE_CONTROL_TOKEN'] = 'a-token_of-24-characters'

for (const colorScheme of ['light', 'dark'] as const) {
  for (const width of colorScheme === 'light' || LONG ? [360, 1280, 1600] : [1280]) {
    test(`console states - in ${colorScheme}, ${width} wide, everything fits and axe finds no violation`, {
      skip: withoutChromium,
    }, async t => {
      const viewport = { width, height: width === 360 ? 780 : 1000 }
      // The server starts again on this port.
      const port = String(await freePort())
      const server = await started(t, ['--time', '2030-01-01T12:00:00Z', '--port', port])
      const { page } = await openedAt(t, server.console, 'activity', { viewport, colorScheme })
      const check = async ({ name, sign }: Pick<State, 'name' | 'sign'>) => {
        await page.getByText(sign).filter({ visible: true }).first().waitFor()
        await assertFits(page, name)
        await photograph(page, `${name}-${colorScheme}-${width}`)
        // Colors do not depend on the width, and the layout not on the colors.
        if (width === 1280 || (width === 360 && colorScheme === 'light')) {
          await assertAccessible(page, name)
        }
      }
      await check({ name: 'empty', sign: 'No requests yet.' })
      await exercise(server.call, server.control)
      for (const state of STATES) {
        // A page that is opened afresh has all requests.
        await page.goto('about:blank')
        await page.goto(`${server.origin}/#${state.place}`)
        await page.getByText('Live', { exact: true }).waitFor()
        await state.reach?.(page)
        await check(state)
      }
      server.stop()
      await check({ name: 'lost', sign: 'Reconnecting' })
      await started(t, ['--port', port])
      await check({ name: 'restarted', sign: 'Before the server restarted' })

      const many = await started(t, ['--keys', await manyKeys(t), '--console'])
      await many.call('GET', '/pets', 'key-3-secret')
      await page.goto(many.console)
      await check({ name: 'keys', sign: '10 more keys are not shown' })
    })
  }
}

async function assertFits(page: Page, state: string): Promise<void> {
  const wide = await page.evaluate(`
    [document.documentElement, ...document.querySelectorAll('.panel, .row, .scroll')]
      .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
      .map(({ className, textContent }) => className + textContent.slice(0, 40))
  `)
  assert.deepEqual(wide, [], state)
}

async function photograph(page: Page, name: string): Promise<void> {
  if (SCREENSHOTS === undefined) return
  await mkdir(SCREENSHOTS, { recursive: true })
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) })
}

/** Fills every panel: 60 of one kind, 33 refused, then one of each other kind. */
async function exercise(call: Call, control: string): Promise<void> {
  for (let n = 0; n < 93; n++) await call('GET', '/pets?limit=1', 'demo-free')
  for (let n = 0; n < 10; n++) await call('GET', '/pets?limit=3&status=available', 'demo-pro')
  await call('POST', '/pets', 'demo-pro', '{"name":"Ada","categoryId":9223372036854775807}')
  await call('POST', '/pets', 'demo-pro', '{"name":"Bo","categoryID":7}')
  await call('GET', '/pets/7', 'demo-business')
  await call('GET', '/pets?limt=3', 'demo-business')
  await call('GET', '/pets?limit=1000', 'demo-pro')
  await call('GET', '/pets', 'demo-fre')
  await call('GET', '/pet', 'demo-pro')
  const fault = { kind: 'status', status: 503, operation: 'createPet', times: 3 }
  await fetch(`${control}/faults`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(fault),
  })
}
