/** Answers every request with the same page, as fast as it can; tells its parent the port. */
import { createServer } from 'node:http'

const pets = Array.from({ length: 20 }, (_, n) => ({ id: n + 1, name: `Pet ${n}`, categoryId: 7 }))
const body = JSON.stringify(pets)

const server = createServer((_, response) => {
  response.writeHead(200, {
    'Content-Type': 'application/json',
    'Content-Length': body.length,
    'X-RateLimit-Limit': 1_000_000,
    'X-RateLimit-Remaining': 999_999,
    'X-RateLimit-Reset': Math.floor(Date.now() / 60_000) * 60 + 60,
  })
  response.end(body)
})
server.listen(0, '127.0.0.1', () => process.send(server.address().port))
process.once('disconnect', () => process.exit())
