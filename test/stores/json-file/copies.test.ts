import assert from 'node:assert/strict'
import fs from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { jsonFileStorage } from '../../../adapters/stores/json-file/index.js'
import { hideHolder, openWatched, REX, temporaryFolders } from './json-files.js'

const folder = temporaryFolders()
const FILES = ['pets.json', 'pets.json.journal']

for (const order of [FILES, FILES.toReversed()]) {
  test(`json file - a copy made while open, with a compaction and inserts anywhere in between, is complete or refused: ${order.join(', ')}`, async () => {
    for (const steps of ['', 'c', 'i', 'ci', 'ic', 'ici', 'cic', 'cici']) {
      const { path, storage, idle } = await openWatched(folder())
      const copied = folder()
      for (let n = 0; n < 3; n++) await storage.insert(REX)
      copy(path, copied, order[0])
      for (const step of steps) {
        if (step === 'i') await storage.insert({ ...REX, name: 'later' })
        else {
          idle()
          // Changes take turns: this one waits for the compaction.
          await storage.restoreIfNew({ pets: [], nextId: 1 })
        }
      }
      copy(path, copied, order[1])
      const names = await namesIn(join(copied, 'pets.json'))
      const complete = ['Rex', 'Rex', 'Rex']
      if (typeof names === 'string') {
        assert.match(names, / lacks .*pets\.json\.journal, |is not the document that /, steps)
        assert.ok(steps.includes('c'), `refused after '${steps}'`)
      } else assert.deepEqual(names.slice(0, 3), complete, steps)
      await storage.close()
      copy(path, copied, 'pets.json')
      fs.rmSync(join(copied, 'pets.json.journal'), { force: true })
      assert.deepEqual((await namesIn(join(copied, 'pets.json'))).slice(0, 3), complete)
    }
  })
}

test('json file - the journal of an earlier copy does not replace that of a document', async () => {
  const { path, storage, idle } = await openWatched(folder())
  const copied = folder()
  await storage.insert(REX)
  copy(path, copied, 'pets.json.journal')
  idle()
  await storage.insert(REX)
  copy(path, copied, 'pets.json')
  assert.match(`${await namesIn(join(copied, 'pets.json'))}`, / is not the document that /)
  await storage.close()
})

test('json file - a document that was open lacks its journal: the error says what to do, and nothing is changed', async () => {
  const { path, storage } = await openWatched(folder())
  await storage.insert(REX)
  const copied = join(folder(), 'pets.json')
  fs.copyFileSync(path, copied)
  const before = fs.readFileSync(copied, 'utf8')
  const fix = 'copy both files, or remove `journal` from the document to lose them'
  const message = `${copied} lacks ${copied}.journal, which has its last animals; ${fix}`
  await assert.rejects(jsonFileStorage(copied).ready(), { name: 'JsonFileError', message })
  assert.equal(fs.readFileSync(copied, 'utf8'), before)
  fs.writeFileSync(copied, before.replace(/,"journal":true,"crc32":"\w+"/, ''))
  assert.deepEqual(await namesIn(copied), [])
  await storage.close()
})

const CHANGES: Record<string, (journal: Buffer) => string | Buffer> = {
  'CRLF line ends': journal => String(journal).replaceAll('\n', '\r\n'),
  'a byte order mark': journal => `\ufeff${journal}`,
  'UTF-16': journal => Buffer.from(String(journal), 'utf16le'),
  'no content': () => '',
}

for (const [what, change] of Object.entries(CHANGES)) {
  for (const inserts of [1, 3]) {
    test(`json file - a journal of ${inserts} inserts that another program left with ${what} is refused, and nothing is changed`, async () => {
      const { path, storage } = await openWatched(folder())
      for (let n = 0; n < inserts; n++) await storage.insert(REX)
      hideHolder(path)
      const [document, journal] = FILES.map(name => fs.readFileSync(join(path, '..', name)))
      fs.writeFileSync(`${path}.journal`, change(journal as Buffer))
      const changed = fs.readFileSync(`${path}.journal`)
      await assert.rejects(jsonFileStorage(path).ready(), / is damaged: line 1 | lacks /)
      assert.deepEqual(fs.readFileSync(path), document)
      assert.deepEqual(fs.readFileSync(`${path}.journal`), changed)
      fs.writeFileSync(`${path}.journal`, journal as Buffer)
      assert.equal((await namesIn(path)).length, inserts)
    })
  }
}

test('json file - a link that replaced the document does not hide the journal beside it', async () => {
  const { path, storage } = await openWatched(folder())
  await storage.close()
  const moved = join(folder(), 'moved.json')
  fs.copyFileSync(path, moved)
  const { storage: again } = await openWatched(join(path, '..'))
  await again.insert(REX)
  hideHolder(path)
  fs.rmSync(path)
  fs.symlinkSync(moved, path)
  const message = `${path} is a link to ${moved}, but ${path}.journal is beside the link; move that beside the file, or remove it to lose its animals`
  await assert.rejects(jsonFileStorage(path).ready(), { name: 'JsonFileError', message })
  assert.deepEqual(fs.readdirSync(join(path, '..')), [...FILES, 'pets.json.lock'])
})

function copy(path: string, to: string, name = ''): void {
  const from = join(path, '..', name)
  if (fs.existsSync(from)) fs.copyFileSync(from, join(to, name))
}

/** Or why it is refused. */
async function namesIn(path: string): Promise<string | readonly string[]> {
  try {
    const storage = jsonFileStorage(path, { onError() {} })
    const { pets } = await storage.dump()
    await storage.close()
    return pets.map(({ name }) => name)
  } catch (error) {
    return (error as Error).message
  }
}
