import { createServer } from 'node:http'
import { createApp } from 'json-server-1/lib/app.js'
import { Low } from 'lowdb'
import { JSONFile } from 'lowdb/node'
import { toJsonServerPath, writeAnimalsFile } from './animals-file.mjs'
import { listening } from './listening.mjs'

/** json-server 1 beta over a file, as its command line builds it, without watching the file. */
export async function serve() {
  const file = writeAnimalsFile(pet => ({ ...pet, id: String(pet.id) }))
  const database = new Low(new JSONFile(file), {})
  await database.read()
  const app = createApp(database)
  return listening(
    createServer((request, response) => {
      request.url = toJsonServerPath(request.url)
      app.handler(request, response)
    }),
  )
}
