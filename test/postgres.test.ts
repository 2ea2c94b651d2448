import { after, test } from 'node:test'
import { type PostgresStorage, postgresStorage } from '../adapters/postgres/index.js'
import { startPostgres, withoutPostgres } from './support/engines.js'
import { storageSuite } from './support/storage-suite.js'

const skip = withoutPostgres
const engine = skip ? undefined : await startPostgres()
after(() => engine?.stop())
let schemas = 0

storageSuite((name, run) => test(`postgres - ${name}`, { skip }, run), {
  create: () => open(),
  async reopen(storage) {
    const schema = schemaOf.get(storage as PostgresStorage)
    await (storage as PostgresStorage).close()
    return open(schema)
  },
})

const schemaOf = new WeakMap<PostgresStorage, string>()

async function open(schema = `s${schemas++}`): Promise<PostgresStorage> {
  const storage = await postgresStorage({ url: engine?.url as string, schema })
  schemaOf.set(storage, schema)
  after(storage.close)
  return storage
}
