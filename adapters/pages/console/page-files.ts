import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { contentSecurityPolicy, type Page } from '../../http/extra-pages.js'

/** The built page is beside this file, beside the bundled command line, or in `dist`. */
const FOLDERS = [
  'page/',
  '../pages/console/page/',
  '../../../dist/adapters/pages/console/page/',
].map(path => new URL(path, import.meta.url))

export const GUARDS = {
  'Content-Security-Policy': contentSecurityPolicy(),
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
}

const TYPES = {
  'index.html': 'text/html; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'page.css': 'text/css; charset=utf-8',
} as const

const files = new Map<string, Promise<string>>()

export async function pageFile(name: keyof typeof TYPES): Promise<Page> {
  const folder = FOLDERS.find(url => existsSync(new URL('page.js', url)))
  if (!folder) throw new Error('The console is not built; run: npm run build')
  const text = files.get(name) ?? readFile(new URL(name, folder), 'utf8')
  files.set(name, text)
  return { type: TYPES[name], text: await text, headers: { ...GUARDS, Vary: 'Accept' } }
}
