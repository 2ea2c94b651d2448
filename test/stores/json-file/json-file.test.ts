import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { Worker } from 'node:worker_threads'
import {
  JsonFileError,
  type JsonFileStorage,
  jsonFileStorage,
} from '../../../adapters/stores/json-file/index.js'
import { storageSuite } from '../../../adapters/stores/kit/suite.js'
import { firstMessage } from '../../support/first-output.js'
import { CODE_URL } from '../../support/paths.js'
import { rejectsInvalidPets } from '../kit/invalid-pets.js'
import { batchFor, REX, sealed, temporaryFolders } from './json-files.js'

const folder = temporaryFolders()
const LONG = process.env['ADOPTION_STORE_CHAOS'] === 'long'
const REX_1 = '{"id":1,"name":"Rex","categoryId":1,"status":"available"}'

const EMPTY = '{"pets":[]}'

const paths = new Map<unknown, string>()
storageSuite(test, {
  create: () => unopened(join(folder(), 'pets.json')),
  async reopen(storage) {
    await (storage as JsonFileStorage).close()
    return unopened(paths.get(storage) as string)
  },
  idempotency: true,
})

test('json file - close leaves only the document, with a pet per line', async () => {
  const path = join(folder(), 'pets.json')
  const storage = await open(path)
  await storage.insert(REX)
  await storage.insert({ name: 'Tom\n', categoryId: 9223372036854775807n })
  await storage.close()
  const lines = [REX_1, '{"id":2,"name":"Tom\\n","categoryId":9223372036854775807}']
  const document = `{"pets":[\n${lines.join(',\n')}\n],"nextId":3}\n`
  assert.equal(fs.readFileSync(path, 'utf8'), sealed(document))
  assert.deepEqual(fs.readdirSync(join(path, '..')), ['pets.json'])
})

test('json file - close can be called again, and inserts after it reject', async () => {
  const storage = await open(join(folder(), 'pets.json'))
  const inserting = storage.insert(REX)
  await Promise.all([storage.close(), storage.close()])
  assert.equal((await inserting).id, 1)
  await assert.rejects(storage.insert(REX), /pets\.json is closed$/)
  await assert.rejects(storage.restore({ pets: [], nextId: 1 }), /is closed$/)
  await storage[Symbol.asyncDispose]()
})

test('json file - an invalid animal is rejected without failing its batch', async () => {
  await rejectsInvalidPets(await open(join(folder(), 'pets.json')))
})

test('json file - a handwritten document is read, and ids continue after the highest', async () => {
  const path = given(`\ufeff {"pets": [
    {"categoryId": 9.223372036854775807e18, "id": 7, "name": "b"},
    {"id": 3, "name": "\\ud800", "categoryId": -9223372036854775808, "status": "sold"}
  ]}`)
  const storage = await open(path)
  assert.deepEqual(await storage.dump(), {
    pets: [
      { id: 3, name: '\ud800', categoryId: -9223372036854775808n, status: 'sold' },
      { id: 7, name: 'b', categoryId: 9223372036854775807n },
    ],
    nextId: 8,
  })
  assert.equal((await storage.insert(REX)).id, 8)
})

test('json file - a document that is only read is not rewritten', async () => {
  const path = given('{"pets":[]}')
  await (await open(path)).close()
  assert.equal(fs.readFileSync(path, 'utf8'), '{"pets":[]}')
})

const REFUSED: Record<string, readonly [content: string | Uint8Array, reason: RegExp]> = {
  empty: ['', /is empty/],
  truncated: ['{"pets":[', /cannot be read: not valid JSON at line 1, column 10: /],
  'not UTF-8': [Uint8Array.of(0x7b, 0xff, 0x7d), /UTF-8|utf-8/],
  'not an object': ['[]', /: the document must be an object; .* use copy$/],
  'without pets': ['{}', /: `pets` is required$/],
  'with another field': ['{"pets":[],"posts":[]}', /: the document has the unknown field `posts`$/],
  'with a pet of other fields': [pets('"breed":1'), /: `pets\[1\]` has the unknown field `breed`$/],
  'without a name': ['{"pets":[{"id":1,"categoryId":1}]}', /: `pets\[0\]\.name` is required$/],
  'with a name that is none': [pets('"name":5'), /: `pets\[1\]\.name` must be a string$/],
  'with a fraction': [pets('"categoryId":1.5'), /: `pets\[1\]\.categoryId` must be an integer/],
  'with a wrong status': [pets('"status":"lost"'), /: `pets\[1\]\.status` must be one of/],
  'with the id 0': [
    pets('"id":0'),
    /: `pets\[1\]\.id` must be an integer from 1 to 9007199254740991$/,
  ],
  'with a wrong nextId': [
    '{"pets":[],"nextId":0}',
    /: `nextId` must be an integer from 1 to 9007199254740991$/,
  ],
  'with a low nextId': [
    `{"pets":[\n\n${REX_1}],"nextId":1}`,
    /: `nextId` must be greater than the id 1 of `pets\[0\]` \(line 3\), got 1$/,
  ],
  'with an id twice, in our layout': [
    `{"pets":[\n${REX_1},\n${pet(5)},\n${REX_1}\n],"nextId":9}\n`,
    /: `pets\[2\]` \(line 4\) has the id 1 of `pets\[0\]` \(line 2\)$/,
  ],
  'with text after its end': [`{"pets":[\n${REX_1}\n],"nextId":2}\n{}`, /JSON/],
  'without an id left': [`{"pets":[${pet(Number.MAX_SAFE_INTEGER)}]}`, /9007199254740991/],
}

for (const [what, [content, reason]] of Object.entries(REFUSED)) {
  test(`json file - a document ${what} is refused and left as it is`, async () => {
    const path = given(content)
    await assert.rejects(jsonFileStorage(path).ready(), refusal(path, reason))
    assert.deepEqual(fs.readFileSync(path), Buffer.from(content as string))
    assert.deepEqual(fs.readdirSync(join(path, '..')), ['pets.json'])
  })
}

test('json file - a file in a missing folder is refused', async () => {
  const nowhere = join(folder(), 'missing', 'pets.json')
  await assert.rejects(
    jsonFileStorage(nowhere).ready(),
    refusal(nowhere, /missing does not exist; create that folder first$/),
  )
})

test('json file - the journal left by a crash is read, and compacted', async () => {
  const document = `{"pets":[\n${REX_1}\n],"nextId":2}\n`
  const lines = [
    '{"id":2,"name":"],\\"nextId\\":9}","categoryId":-9223372036854775808}',
    '{"id":3,"name":"\\ud800","categoryId":0,"status":"sold"}',
  ]
  const path = given(document, ...lines.map(line => Buffer.from(batchFor(document, `${line}\n`))))
  const storage = await open(path)
  const { pets, nextId } = await storage.dump()
  assert.deepEqual(pets, [
    { id: 1, ...REX },
    { id: 2, name: '],"nextId":9}', categoryId: -9223372036854775808n },
    { id: 3, name: '\ud800', categoryId: 0, status: 'sold' },
  ])
  assert.equal(nextId, 4)
  assert.equal(fs.existsSync(`${path}.journal`), false)
  assert.equal(fs.readFileSync(path, 'utf8').split('\n').length, 6)
})

test('json file - a last batch cut short was not acknowledged and is dropped', async () => {
  const first = batch(REX_1)
  const bytes = Buffer.concat([first, batch(pet(2, 'ñ'), pet(3))])
  for (let length = first.length; length < bytes.length; length += LONG ? 1 : 3) {
    await opensWithFirst(bytes.subarray(0, length), `${length} bytes`)
  }
})

test('json file - what is dropped from the end of a journal is reported once', async () => {
  const path = join(folder(), 'pets.json')
  fs.writeFileSync(path, EMPTY)
  const torn = batch(pet(2)).subarray(0, 60)
  fs.writeFileSync(`${path}.journal`, Buffer.concat([batch(REX_1), torn]))
  const reported: string[] = []
  const onError = ({ message }: Error) => void reported.push(message)
  const storage = jsonFileStorage(path, { onError })
  await storage.ready()
  await storage.close()
  const reason = 'ends in 60 bytes of an unfinished write, which were never acknowledged'
  assert.deepEqual(reported, [`${path}.journal ${reason}`])
})

const KEY_TWICE =
  '{"scope":"web","idempotencyKey":"a","idempotencyKey":"b","fingerprint":"f","expiresAt":9,"petId":1}'

test('json file - a document with a name twice is refused, and left as it is', async () => {
  for (const [document, twice] of [
    [`{"pets":[${REX_1}],"pets":[]}`, /`pets` appears twice, at line 1, column \d+$/],
    [
      '{"pets":[\n{"id":1,"name":"A","name":"B","categoryId":1}\n],"nextId":2}',
      /`name` appears twice, at line 2/,
    ],
    [
      `{"pets":[\n${REX_1}\n],"nextId":2,"idempotencyKeys":[\n${KEY_TWICE}\n]}\n`,
      /`idempotencyKey` appears twice/,
    ],
    [`{"pets":[${REX_1}],"nextId":2,"nextId":3}`, /`nextId` appears twice/],
  ] as const) {
    const path = join(folder(), 'pets.json')
    fs.writeFileSync(path, document)
    await assert.rejects(jsonFileStorage(path).ready(), twice)
    assert.equal(fs.readFileSync(path, 'utf8'), document)
  }
})

test('json file - a last batch of garbage is dropped', async () => {
  const garbage = Buffer.from('what another file held before\n'.repeat(9))
  await opensWithFirst(Buffer.concat([batch(REX_1), garbage]), 'garbage')
})

const DAMAGED: Record<string, readonly [line: number, batches: readonly Buffer[]]> = {
  'a changed digit': [
    1,
    [changed(batch(REX_1), '"categoryId":1', '"categoryId":2'), batch(pet(2))],
  ],
  'a changed digit in its last batch': [
    3,
    [batch(REX_1), changed(batch(pet(2)), '"categoryId":1', '"categoryId":2')],
  ],
  'a batch of zeros': [3, [batch(REX_1), Buffer.alloc(100), batch(pet(2))]],
  'a batch of zeros before a damaged one': [
    3,
    [batch(REX_1), Buffer.alloc(100), changed(batch(pet(2)), '"categoryId":1', '"categoryId":2')],
  ],
  'a longer batch than there is': [
    1,
    [changed(batch(REX_1), '"bytes":', '"bytes":9'), batch(pet(2))],
  ],
  'two batches of zeros': [1, [zeroLines(batch(REX_1)), zeroLines(batch(pet(2)))]],
  'an empty line': [1, [batch(REX_1, '', pet(2))]],
  'a line that is not JSON': [1, [batch('Rex'), batch(pet(2))]],
  'an unknown status': [1, [batch('{"id":1,"name":"","categoryId":1,"status":"lost"}')]],
  'a batch missing': [3, [batch(REX_1), batch(pet(3))]],
  'an id twice': [3, [batch(REX_1), batch(pet(2), pet(2, 'Tom'))]],
}

for (const [what, [line, batches]] of Object.entries(DAMAGED)) {
  test(`json file - a journal with ${what} is refused and nothing is changed`, async () => {
    const path = given(EMPTY, ...batches)
    const journal = fs.readFileSync(`${path}.journal`)
    const reason = new RegExp(` is damaged: .*\\bline ${line}\\b`)
    await assert.rejects(jsonFileStorage(path).ready(), refusal(`${path}.journal`, reason))
    assert.equal(fs.readFileSync(path, 'utf8'), '{"pets":[]}')
    assert.deepEqual(fs.readFileSync(`${path}.journal`), journal)
    assert.deepEqual(fs.readdirSync(join(path, '..')), ['pets.json', 'pets.json.journal'])
  })
}

test('json file - with the document missing, its journal says what to put back', async () => {
  const path = join(folder(), 'pets.json')
  fs.writeFileSync(`${path}.journal`, batch(pet(5)))
  const fix = `put it back, or remove ${path}.journal to start without its animals`
  const message = `${path} is missing, but ${path}.journal has its last animals; ${fix}`
  await assert.rejects(jsonFileStorage(path).ready(), { message })
  assert.deepEqual(fs.readdirSync(join(path, '..')), ['pets.json.journal'])
})

test('json file - a process opens a file once, under any of its names, and closes it with its last user', async () => {
  const path = join(folder(), 'pets.json')
  const other = join(folder(), 'other.json')
  fs.symlinkSync(path, other)
  const [one, two] = await Promise.all([open(path), open(path)])
  await one.insert(REX)
  await one.close()
  const three = await open(other)
  await three.insert(REX)
  assert.equal((await two.dump()).pets.length, 2)
  const held = / is in use by this process, perhaps in another thread; /
  const apart = jsonFileStorage(path, { whenIdle: () => () => {} })
  await assert.rejects(apart.ready(), refusal(path, held))
  await Promise.all([two.close(), three.close()])
  await apart.close()
  assert.equal(fs.lstatSync(other).isSymbolicLink(), true)
  assert.deepEqual(fs.readdirSync(join(path, '..')), ['pets.json'])
})

test('json file - a folder that was removed while open has no animals when it is opened again', async () => {
  const path = join(folder(), 'pets.json')
  const forgotten = await open(path)
  await forgotten.insert(REX)
  fs.rmSync(join(path, '..'), { recursive: true })
  fs.mkdirSync(join(path, '..'))
  const storage = await open(path)
  assert.deepEqual((await storage.dump()).pets, [])
  await assert.rejects(forgotten.close(), refusal(path, /was moved, removed or replaced/))
  await storage.insert(REX)
  await storage.close()
})

test('json file - a thread that has ended holds nothing', async () => {
  const path = join(folder(), 'pets.json')
  const module = new URL('adapters/stores/json-file/index.js', CODE_URL)
  const program = `const { jsonFileStorage } = await import('${module}')
    const { parentPort } = await import('node:worker_threads')
    const opening = jsonFileStorage(${JSON.stringify(path)}).ready()
    parentPort.postMessage(await opening.then(() => 'opened', error => error.message))
    setInterval(() => {}, 1_000)`
  const start = () => new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`))
  const first = start()
  assert.deepEqual(await once(first, 'message'), ['opened'])
  const second = start()
  assert.match(`${await once(second, 'message')}`, /in use by this process, perhaps in another/)
  await Promise.all([first.terminate(), second.terminate()])
  await (await open(path)).close()
  assert.deepEqual(fs.readdirSync(join(path, '..')), ['pets.json'])
})

test('json file - another process that uses the file is named; a dead one is taken over from', async () => {
  const path = join(folder(), 'pets.json')
  const holder = fork(new URL('../../crash/server.js', import.meta.url), [path, '5', '0'])
  const port = await firstMessage(holder)
  const answer = await fetch(`http://127.0.0.1:${port}/v1/pets`, {
    method: 'POST',
    headers: { authorization: 'Bearer crash', 'content-type': 'application/json' },
    body: JSON.stringify(REX),
  })
  assert.equal(answer.status, 201)
  await assert.rejects(
    jsonFileStorage(path).ready(),
    refusal(path, new RegExp(`process ${holder.pid};`)),
  )
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  const storage = await open(path)
  assert.deepEqual((await storage.dump()).pets, [{ id: 1, ...REX }])
  await storage.close()
  assert.deepEqual(fs.readdirSync(join(path, '..')), ['pets.json'])
})

const onLinux = { skip: process.platform !== 'linux' && 'only Linux tells when a process started' }
for (const pid of [process.pid, process.ppid, 1]) {
  const whose = pid === process.pid ? 'our own pid' : pid === 1 ? 'pid 1' : 'the pid of another'
  test(
    `json file - a lock left with ${whose} by an earlier process is taken over`,
    onLinux,
    async () => {
      const path = given('{"pets":[]}')
      deadLock(path, `${pid}-1-0123456789ab`)
      await (await open(path)).close()
      assert.deepEqual(fs.readdirSync(join(path, '..')), ['pets.json'])
    },
  )
}

test('json file - exactly one of many processes takes over from a dead one', async () => {
  for (let round = 0; round < (LONG ? 20 : 6); round++) {
    const path = given('{"pets":[]}')
    if (round % 2) deadLock(path)
    const openings = await Promise.allSettled(
      Array.from({ length: 12 }, () => jsonFileStorage(path, { whenIdle: () => () => {} }).ready()),
    )
    const refused = openings.filter(opening => opening.status === 'rejected')
    assert.equal(refused.length, 11)
    for (const { reason } of refused) {
      assert.match(reason.message, /is in use by this process|is being opened by other/)
    }
    const names = fs.readdirSync(join(path, '..'))
    assert.deepEqual(names, ['pets.json', 'pets.json.lock'])
  }
})

/** A file with this content, and a journal of these batches beside it. */
function given(content: string | Uint8Array, ...batches: readonly Uint8Array[]): string {
  const path = join(folder(), 'pets.json')
  fs.writeFileSync(path, content)
  if (batches.length > 0) fs.writeFileSync(`${path}.journal`, Buffer.concat(batches))
  return path
}

function batch(...lines: readonly string[]): Buffer {
  return Buffer.from(batchFor(EMPTY, lines.map(line => `${line}\n`).join('')))
}

/** As after damage: the checksum stays. */
function changed(batch: Buffer, from: string, to: string): Buffer {
  const text = batch.toString('latin1')
  assert.ok(text.includes(from))
  return Buffer.from(text.replace(from, to).replace(/^(.*9\d+\}) /, '$1'), 'latin1')
}

function zeroLines(batch: Buffer): Buffer {
  return Buffer.from(batch).fill(0, batch.indexOf('\n') + 1)
}

async function opensWithFirst(journal: Uint8Array, what: string): Promise<void> {
  const path = given(EMPTY, journal)
  const storage = await open(path)
  assert.deepEqual(await storage.dump(), { pets: [{ id: 1, ...REX }], nextId: 2 }, what)
  await storage.close()
}

function deadLock(path: string, owner = '2147483647-5-0123456789ab'): void {
  fs.mkdirSync(join(`${path}.lock`, owner), { recursive: true })
}

async function open(path: string): Promise<JsonFileStorage> {
  const storage = unopened(path)
  await storage.ready()
  return storage
}

function unopened(path: string): JsonFileStorage {
  const storage = jsonFileStorage(path)
  paths.set(storage, path)
  return storage
}

/** One line that begins with the path. */
function refusal(path: string, reason: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof JsonFileError)
    assert.ok(error.message.startsWith(`${path} `), error.message)
    assert.match(error.message, reason)
    assert.doesNotMatch(error.message, /\n/)
    return true
  }
}

function pet(id: number, name = 'Rex'): string {
  return `{"id":${id},"name":"${name}","categoryId":1,"status":"available"}`
}

/** A document whose second pet has an invalid field; the last of two equal names wins. */
function pets(field: string): string {
  return `{"pets":[${REX_1},{"id":2,"name":"Tom","categoryId":1,${field}}]}`
}
