import { startServer, stop } from './children.mjs'
import { exchange } from './exchange.mjs'
import { WORKLOADS } from './workload.mjs'

/** The servers under test, with their packages. */
export const SUBJECTS = {
  limit: [],
  'limit-again': [],
  ours: [],
  'ours-console': [],
  fastify: ['fastify', '@fastify/rate-limit'],
}

/** Both replay our responses; the second process of the same program shows the noise. */
const REPLAYS = ['limit', 'limit-again']

let answers

/** Starts one of them and checks its responses. */
export async function startSubject(name) {
  const server = await startServer(await serverArguments(name))
  for (const [operation, { status, requests }] of Object.entries(WORKLOADS)) {
    const answer = await exchange(server.origin, requests[0])
    if (answer.status !== status || !isRight[operation](JSON.parse(answer.body))) {
      throw new Error(`${name} answers ${operation} with ${answer.status} ${answer.body}`)
    }
  }
  return server
}

/** The arguments for Node. */
async function serverArguments(name) {
  if (!REPLAYS.includes(name)) return ['servers/start.mjs', name]
  answers ??= JSON.stringify(await ourAnswers())
  return ['servers/start.mjs', 'limit', answers]
}

const isRight = {
  list: pets => pets.length === 20 && pets.every(pet => pet.status === 'available'),
  get: pet => Number(pet.id) === 1,
  create: pet => pet.name === 'Bella' && Number(pet.id) !== 1,
}

/** The responses of our server, for those that only replay them. */
async function ourAnswers() {
  const { child, origin } = await startServer(await serverArguments('ours'))
  const taken = {}
  for (const [operation, { requests }] of Object.entries(WORKLOADS)) {
    const { status, headers, body } = await exchange(origin, requests[0])
    // Node adds these two to every response.
    const own = headers.filter(([field]) => field !== 'Connection' && field !== 'Keep-Alive')
    taken[operation] = { status, headers: Object.fromEntries(own), body }
  }
  await stop(child)
  return taken
}
