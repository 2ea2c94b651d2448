// Creates adapters/pages/console/console.png, the screenshot in the pages. Needs `npm run build` and a Chromium.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { CHROMIUM } from '../dist/test/browser/chromium.js'

const path = name => fileURLToPath(new URL(`../${name}`, import.meta.url))
const flags = ['--port', '0', '--json', '--log', 'silent', '--time', '2030-01-01T12:00:05Z']
const server = spawn(process.execPath, [path('dist/adapters/cli/main.cjs'), ...flags], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
const [line] = await once(server.stdout, 'data')
const { baseUrl, console, control } = JSON.parse(String(line))
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, deviceScaleFactor: 1 })
await page.goto(console)

for (let second = 0; second < 45; second++) {
  for (let n = 0; n < 3 + (second % 7); n++)
    await call('GET', '/pets?limit=20&status=available', 'demo-pro')
  if (second % 6 === 2) await call('GET', `/pets/${second}`, 'demo-business')
  if (second % 9 === 4) await call('POST', '/pets', 'demo-pro', '{"name":"Ada"}')
  if (second > 20 && second < 42)
    for (let n = 0; n < 5; n++) await call('GET', '/pets', 'demo-free')
  await sleep(1_000)
  await command('clock', { advance: 1_000 })
}
await call('POST', '/pets', 'demo-pro', '{"name":"Ada","categoryId":9223372036854775807}')
await call('POST', '/pets', 'demo-pro', '{"name":"Bo","categoryID":7}')
await call('GET', '/pets?limt=3', 'demo-business')
await call('GET', '/pets?status=sold', 'demo-business')
await sleep(1_500)
// The port differs each time.
await page.evaluate(
  `document.querySelector('.address code').textContent = 'http://127.0.0.1:4280/v1'`,
)
await page.screenshot({ path: path('adapters/pages/console/console.png') })
await browser.close()
server.kill()

function call(method, target, key, body) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return fetch(`${baseUrl}${target}`, { method, headers, ...(body && { body }) })
}

function command(name, body) {
  const headers = { 'content-type': 'application/json' }
  return fetch(`${control}/${name}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  })
}
