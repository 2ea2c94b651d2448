import { existsSync } from 'node:fs'

/** Where Debian, Ubuntu, Alpine and Chrome's own packages put it. */
const PLACES = [
  process.env['CHROMIUM'] ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** The browser on this machine; undefined when there is none. */
export const CHROMIUM = PLACES.find(path => path !== '' && existsSync(path))

/** In ms; beside much load, the browser takes longer than Playwright's 30 s. */
export const PATIENCE = 180_000
