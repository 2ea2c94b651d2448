import assert from 'node:assert/strict'
import fs from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { jsonFileStorage } from '../../../adapters/stores/json-file/index.js'
import { never, REX, temporaryFolders } from './json-files.js'

const folder = temporaryFolders()
const opened = folder()
// Not a divisor of 8, so every bit of a byte is flipped in some byte.
const STEP = process.env['ADOPTION_STORE_CHAOS'] === 'long' ? 1 : 11
const CHANGED =
  /pets\.json has changed since it was saved: its checksum does not match\. [^\n]*remove its `crc32`$/

test('json file checksum - no flipped bit of a document goes unnoticed', async () => {
  const saved = await saveTwo()
  const outcomes = { refused: 0, reported: 0 }
  for (let bit = 0; bit < saved.length * 8; bit += STEP) {
    const flipped = Buffer.from(saved)
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    const opened = await open(flipped)
    if (opened.error) outcomes.refused++
    else if (opened.reported.length === 1) outcomes.reported++
    else assert.fail(`bit ${bit} was flipped unnoticed: ${flipped}`)
  }
  assert.equal(outcomes.refused + outcomes.reported, Math.ceil((saved.length * 8) / STEP))
  // Both happen: a flip in a name is no invalid document.
  assert.ok(outcomes.refused > 5 && outcomes.reported > 5, JSON.stringify(outcomes))
})

test('json file checksum - an edited document opens and is reported, until it is saved or the checksum removed', async () => {
  const saved = String(await saveTwo())
  const edited = saved.replace('Rex', 'Max')
  const { names, reported } = await open(Buffer.from(edited))
  assert.deepEqual(names, ['Max', 'Tom'])
  assert.equal(reported.length, 1)
  assert.match(reported[0] ?? '', CHANGED)

  const layouts = [edited.replaceAll(',"', ', "'), edited.replace('[\n', '[\n\n')]
  for (const layout of layouts) {
    const other = await open(Buffer.from(layout))
    assert.deepEqual([other.names, other.reported.length], [['Max', 'Tom'], 1])
  }
  const without = edited.replace(/,"crc32":"\w+"/, '')
  assert.deepEqual(await open(Buffer.from(without)), { names: ['Max', 'Tom'], reported: [] })

  const path = join(folder(), 'pets.json')
  fs.writeFileSync(path, edited)
  const storage = jsonFileStorage(path, { whenIdle: never, onError() {} })
  await storage.insert(REX)
  await storage.close()
  assert.deepEqual((await open(fs.readFileSync(path))).reported, [])
})

test('json file checksum - a checksum of the wrong type is refused by name', async () => {
  const { error } = await open(Buffer.from('{"pets":[],"crc32":7}'))
  assert.match(String(error), /`crc32` must be a string$/)
})

async function saveTwo(): Promise<Buffer> {
  const path = join(folder(), 'pets.json')
  const storage = jsonFileStorage(path, { whenIdle: never })
  await storage.insert(REX)
  await storage.insert({ name: 'Tom', categoryId: 9223372036854775807n })
  await storage.close()
  return fs.readFileSync(path)
}

/** Opens a document, and says what it holds and what was reported. */
async function open(document: Buffer) {
  const path = join(opened, 'pets.json')
  fs.writeFileSync(path, document)
  const reported: string[] = []
  try {
    const storage = jsonFileStorage(path, {
      whenIdle: never,
      onError: ({ message }) => void reported.push(message),
    })
    const { pets } = await storage.dump()
    await storage.close()
    return { names: pets.map(({ name }) => name), reported }
  } catch (error) {
    return { error, reported }
  }
}
