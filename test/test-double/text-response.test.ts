import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { textResponse } from '../../adapters/test-double/text-response.js'

const INIT = { status: 201, headers: { 'Content-Type': 'application/json', 'X-A': '1' } }
const TEXTS = ['{"name":"Ada 🐕"}', '"é"', 'no JSON', '{"a":"\ud800"}', '\ufeff{}']

type Reads = (response: Response) => unknown

/** Everything that may be done with a response, one after the other. */
const READS: Record<string, Reads> = {
  text: response => response.text(),
  json: response => response.json(),
  'text, then json': async response => [await response.text(), await response.json()],
  'text, then body': async response => {
    const text = await response.text()
    const { bodyUsed, body } = response
    return [text, bodyUsed, body?.locked]
  },
  arrayBuffer: async response => [...new Uint8Array(await response.arrayBuffer())],
  'arrayBuffer, then text': async response => [
    (await response.arrayBuffer()).byteLength,
    await response.text(),
  ],
  blob: async response => {
    const blob = await response.blob()
    return [blob.type, await blob.text()]
  },
  stream: async response => {
    const reader = response.body?.getReader()
    const { value } = (await reader?.read()) ?? {}
    return [response.bodyUsed, new TextDecoder().decode(value)]
  },
  'the body twice': response => {
    const { body } = response
    return body === response.body
  },
  'body, then text': async response => [response.body !== null, await response.text()],
  'clone, then both': async response => {
    const copy = response.clone()
    return [await copy.json(), await response.json(), copy.status, copy.headers.get('x-a'), copy.ok]
  },
  'text, then clone': async response => [await response.text(), response.clone().status],
  formData: response => response.formData(),
  'a response of its body': response => new Response(response.body).text(),
  'what it is': response => [
    response instanceof Response,
    String(response),
    response.status,
    response.statusText,
    response.ok,
    response.type,
    response.redirected,
    [...response.headers],
  ],
  'its headers, then text': async response => {
    response.headers.set('x-a', '2')
    const copy = response.clone()
    return [await response.text(), copy.headers.get('x-a')]
  },
  'what it shows': response => inspect(response),
  'a response with its status and headers': response => {
    const { status, headers } = new Response(null, response)
    return [status, [...headers]]
  },
}

for (const [name, read] of Object.entries(READS)) {
  test(`text response - ${name}: the same as a Response`, async () => {
    for (const text of TEXTS) {
      const [own, platform] = await Promise.all(
        [textResponse(text, INIT), new Response(text, INIT)].map(outcomeOf),
      )
      assert.deepEqual(own, platform, text)
    }

    async function outcomeOf(response: Response) {
      try {
        const value = await read(response)
        return { value, bodyUsed: response.bodyUsed }
      } catch (error) {
        const { name, message } = error as Error
        return { name, message, bodyUsed: response.bodyUsed }
      }
    }
  })
}
