import { toNodeHandler } from 'animal-adoption-store/http'
import Fastify from 'fastify'
import { exercise, openStore } from './support.mjs'

const handler = toNodeHandler(openStore())
const fastify = Fastify()
fastify.removeAllContentTypeParsers()
fastify.addContentTypeParser('*', (_request, _payload, done) => done(null))
fastify.all('/v1/*', (request, reply) => {
  reply.hijack()
  handler(request.raw, reply.raw)
})

await exercise(await fastify.listen({ port: 0, host: '127.0.0.1' }))
fastify.server.closeAllConnections()
await fastify.close()
