import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withoutChromium as skip } from '../browser/console-page.js'
import { newProfile, startChromium } from '../browser/profile.js'
import { bundled } from '../runtimes/bundle.js'
import { serveSite } from '../runtimes/in-chromium.js'
import { killWhileCreating } from './kills.js'

const isLong = process.env['ADOPTION_STORE_CHAOS'] === 'long'
const KILLS = isLong ? 1_000 : 40

const program = bundled('indexeddb/creates.ts')

test(`indexeddb kills - acknowledged animals survive ${KILLS} kills of tabs and workers, once each`, {
  skip,
}, async t => {
  const { origin } = await serveSite(t, { '/program.mjs': await program })
  const chromium = await startChromium(t, await newProfile(t))
  const { kills, ...outcome } = await killWhileCreating(chromium, origin, KILLS, 47)
  t.diagnostic(JSON.stringify({ kills, ...outcome }))
  const { acknowledged, repeated, ...damage } = outcome
  assert.deepEqual(damage, { lost: 0, doubled: 0, gaps: 0 })
  assert.ok(acknowledged > KILLS, `only ${acknowledged} were acknowledged`)
  assert.ok(repeated > 0)
  assert.equal(Object.keys(kills).length, 4)
})
