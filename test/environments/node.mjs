import { mkdtempSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export { withConsole } from 'animal-adoption-store/console'
export { listen } from 'animal-adoption-store/http'
export { jsonFileStorage } from 'animal-adoption-store/json-file'
export * from './core.mjs'

const folder = mkdtempSync(join(tmpdir(), 'environments-'))
export const temporaryFile = () => join(folder, 'pets.json')

/** As much of `fetch` as the cases need, where the platform has none, or one with rules for pages. */
export function send(url, { body, ...options } = {}) {
  return new Promise((resolve, reject) => {
    const answered = response => {
      let text = ''
      response.setEncoding('utf8').on('data', part => {
        text += part
      })
      const headers = { get: name => response.headers[name] }
      const whole = { status: response.statusCode, headers, text: async () => text }
      response.on('end', () => resolve(whole))
    }
    request(url, { agent: false, ...options }, answered)
      .on('error', reject)
      .end(body)
  })
}
