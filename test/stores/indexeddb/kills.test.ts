import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withoutChromium as skip } from '../../browser/console-page.js'
import { bundled } from '../../runtimes/bundle.js'
import { serveSite } from '../../runtimes/in-chromium.js'
import { killBrowsers, killTabs } from './kills.js'

/** Each takes a second or two. */
const KILLS = process.env['ADOPTION_STORE_CHAOS'] === 'long' ? 40 : 10
const RUNS = {
  'tabs and workers': { kill: killTabs, kills: KILLS, seed: 47 },
  'the browser': { kill: killBrowsers, kills: Math.ceil(KILLS / 20), seed: 6 },
}

const program = bundled('stores/indexeddb/creates.ts')

for (const [what, { kill, kills, seed }] of Object.entries(RUNS)) {
  test(`indexeddb kills - acknowledged animals survive ${kills} kills of ${what}, once each`, {
    skip,
  }, async t => {
    const { origin } = await serveSite(t, { '/program.mjs': await program })
    const outcome = await kill(t, origin, kills, seed)
    t.diagnostic(JSON.stringify(outcome))
    const { acknowledged, lost, doubled, gaps } = outcome
    assert.deepEqual({ lost, doubled, gaps }, { lost: 0, doubled: 0, gaps: 0 })
    assert.ok(acknowledged > kills, `only ${acknowledged} were acknowledged`)
  })
}
