import assert from 'node:assert/strict'
import { assertError, type Checks, post, REX } from './check.js'

/** Request bodies. */
export const bodyChecks: Checks = {
  async 'body.type - accepts application/json with or without parameters'({ send }) {
    const types =
      'application/json|Application/JSON|application/json; charset=utf-8|application/json;a|'
    for (const type of types.split('|')) {
      assert.equal((await send(post(REX, { 'content-type': type }))).status, 201, type)
    }
    const others =
      'text/plain|application/jsonx|application/json, text/plain|application/ld+json|json'
    for (const type of others.split('|')) {
      const reply = await send(post(REX, { 'content-type': type }))
      const message = `The Content-Type must be application/json, got '${type}'.`
      assertError(reply, 415, 'unsupported_media_type', message)
    }
    const long = await send(post(REX, { 'content-type': 'x'.repeat(5_000) }))
    const message = `The Content-Type must be application/json, got '${'x'.repeat(80)}'.`
    assertError(long, 415, 'unsupported_media_type', message)
  },
  async 'body.type - a missing content type is JSON; identity is the only content encoding'({
    send,
  }) {
    const bytes = new TextEncoder().encode(JSON.stringify(REX))
    assert.equal((await send(post(bytes))).status, 201)
    const encoded = (value: string) => send(post(REX, { 'content-encoding': value }))
    assert.equal((await encoded('Identity')).status, 201)
    for (const value of ['gzip', 'br', 'deflate', 'identity, gzip', 'x']) {
      const reply = await encoded(value)
      const message = `Send the body uncompressed: its Content-Encoding is '${value}'.`
      assertError(reply, 415, 'unsupported_media_type', message)
    }
  },
  'body.size - accepts exactly maxBodyBytes and not a byte more': {
    options: () => ({ maxBodyBytes: 100 }),
    async run({ send }) {
      const sized = (bytes: number, fill: string) => {
        const empty = JSON.stringify({ name: '', categoryId: 1 })
        const room = bytes - empty.length
        const long = fill.repeat(Math.floor(room / encode(fill).length))
        const name = long.padEnd(long.length + (room % encode(fill).length))
        return post({ name, categoryId: 1 })
      }
      for (const fill of ['x', 'é', '€', '🐈']) {
        assert.equal((await send(sized(100, fill))).status, 201)
        const message = 'The body is larger than 100 bytes.'
        assertError(await send(sized(101, fill)), 413, 'payload_too_large', message)
      }
    },
  },
  async 'body.size - defaults to 1 MiB'({ send }) {
    const [short, long] = [1_048_576, 1_048_577].map(bytes => post(`"${'x'.repeat(bytes - 2)}"`))
    assert.equal((await send(short as ReturnType<typeof post>)).status, 400)
    assertError(await send(long as ReturnType<typeof post>), 413, 'payload_too_large')
  },
  async 'body.json - strict UTF-8, with or without a byte order mark'({ send }) {
    const text = encode('{"name":"é€🐈","categoryId":1}')
    assert.equal((await send(post(text))).status, 201)
    assert.equal((await send(post(Uint8Array.of(...BYTE_ORDER_MARK, ...text)))).status, 201)
    const twice = await send(post(Uint8Array.of(...BYTE_ORDER_MARK, ...BYTE_ORDER_MARK, ...text)))
    assertError(twice, 400, 'invalid_request', 'The body is not valid JSON.')
    for (const wrong of NOT_UTF_8) {
      const [before, after] = [encode('{"name":"'), encode('","categoryId":1}')]
      const body = Uint8Array.of(...before, ...wrong, ...after)
      assertError(await send(post(body)), 400, 'invalid_request', 'The body is not valid UTF-8.')
    }
  },
  async 'body.json - nesting beyond 1,000 levels is rejected, and the last duplicate name wins'({
    send,
  }) {
    for (const inner of ['', '12345678901234567890', '1e400']) {
      for (const [open, close] of [
        ['[', ']'],
        ['{"a":', '}'],
      ] as const) {
        for (const [levels, status] of [
          [999, 201],
          [1_000, 400],
          // A depth that overflows a stack, whatever is inside.
          [inner === '' ? 100_000 : 6_000, 400],
        ] as const) {
          const deep = open.repeat(levels) + (inner || '1') + close.repeat(levels)
          const reply = await send(post(`{"name":"Rex","categoryId":1,"deep":${deep}}`))
          assert.equal(reply.status, status, `${levels} levels around ${inner}`)
          assertError(await send(post(deep)), 400, 'invalid_request')
          assertError(await send(post(open.repeat(levels))), 400, 'invalid_request')
        }
        const brackets = open.replaceAll('"', '').repeat(5_000)
        const text = `{"name":"\\\\\\"${brackets}","categoryId":${inner === '' ? 1 : '1e0'}}`
        assert.equal((await send(post(text))).status, 201, 'brackets in a string are no levels')
      }
    }
    for (const [first, last, status] of [
      ['"1"', '2', 201],
      ['12345678901234567890', '9007199254740993', 201],
      ['2', '"1"', 400],
      ['9007199254740993', '1e400', 400],
    ] as const) {
      const reply = await send(post(`{"name":"Rex","categoryId":${first},"categoryId":${last}}`))
      assert.equal(reply.status, status)
      if (status === 201) assert.ok(reply.body.includes(`"categoryId":${last},`))
    }
  },
}

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf]
const NOT_UTF_8 = [
  [0xff],
  [0xc0, 0x80],
  [0xed, 0xa0, 0x80],
  [0xf4, 0x90, 0x80, 0x80],
  [0xe2, 0x82],
  [0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00],
]

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}
