// A `fetch` for scripts that tests start as processes: Node takes 100 ms of CPU to load its own.
// It resolves once the whole body has arrived.
const { request } = require('node:http')

globalThis.fetch = (url, { method = 'GET', headers = {}, body } = {}) =>
  new Promise((resolve, reject) => {
    const call = request(url, { method, headers }, response => {
      const chunks = []
      response.on('data', chunk => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const status = response.statusCode
        const text = Buffer.concat(chunks).toString()
        const ok = status >= 200 && status < 300
        resolve({ status, ok, text: async () => text, json: async () => JSON.parse(text) })
      })
    })
    call.on('error', reject).end(body)
  })
