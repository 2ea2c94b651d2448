import { contentSecurityPolicy, type Page } from '../../http/extra-pages.js'

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

export async function pageFile(name: keyof typeof TYPES): Promise<Page> {
  const { PAGE } = await import('./built-page.js')
  return { type: TYPES[name], text: PAGE[name], headers: { ...GUARDS, Vary: 'Accept' } }
}
