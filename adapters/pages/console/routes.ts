import { invalidRequest, notFound, unsupportedMediaType } from '../../../src/api-error.js'
import type { Awaitable } from '../../../src/lib/async.js'
import { toJson } from '../../../src/lib/json.js'
import type { NewPet } from '../../../src/pets/schema.js'
import type { ApiHandler, ApiRequest, ApiResponse } from '../../../src/protocol/api-request.js'
import { readBody } from '../../../src/protocol/body.js'
import { NOT_SHARED, toAnswer } from '../../http/extra-pages.js'
import { harOf } from '../../verdict/log/har.js'
import type { Activity, Kept, WatchedWorld } from './activity.js'
import type { ConsoleWorld } from './console-options.js'
import { archivedOf, detailOf } from './exchange-detail.js'
import { edited } from './resend.js'
import type { Streams } from './streams.js'

export const CONSOLE_PATH = '/_console/'

export interface MonitoredApi {
  readonly world: WatchedWorld
  readonly activity: Activity
  readonly streams: Streams
}

export interface Call {
  readonly request: ApiRequest
  readonly handler: ApiHandler
  readonly api: MonitoredApi
  readonly control: boolean
  readonly worlds: readonly string[]
}

type Run = (call: Call, id: string) => Awaitable<ApiResponse>

/** @throws ApiError */
export async function runRoute(call: Call): Promise<ApiResponse> {
  const { method, path, headers } = call.request
  const [name, id = '', action] = path.slice(CONSOLE_PATH.length).split('/')
  const run = ROUTES.get(`${method} ${[name, id && '<n>', action].filter(Boolean).join('/')}`)
  if (!run) throw notFound('The console does not serve this.')
  // Other origins need a preflight for this type, which the console does not answer.
  if (method === 'POST' && !/^application\/json *(;|$)/i.test(headers['content-type'] ?? ''))
    throw unsupportedMediaType('Send Content-Type: application/json.')
  return run(call, id)
}

const ROUTES: ReadonlyMap<string, Run> = new Map<string, Run>([
  ['GET info', call => json(call.request, infoOf(call))],
  ['GET events', ({ request, api }) => api.streams.open(request.headers['last-event-id'])],
  ['GET exchanges/<n>', showExchange],
  ['POST exchanges/<n>/resend', resend],
  ['POST har', archive],
  ['GET animals', async call => json(call.request, await animalsFrom(call))],
  ['POST animals', createAnimal],
])

export type Info = ReturnType<typeof infoOf>

function infoOf({ handler, api: { world }, control, worlds }: Call) {
  const panels = { animals: Boolean(world.animals), usage: Boolean(world.usage), control }
  return { basePath: handler.basePath, panels, worlds }
}

function originOf({ request }: Call): string {
  return `http://${request.headers['host']}`
}

function showExchange(call: Call, id: string): ApiResponse {
  return json(call.request, detailOf(findExchange(call, id), call.api.world, originOf(call)))
}

async function archive(call: Call): Promise<ApiResponse> {
  const { request, handler, api } = call
  const numbers = await readBody(request, handler.maxBodyBytes)
  if (!Array.isArray(numbers)) throw invalidRequest('Send a list of numbers.')
  const found = [...new Set(numbers.map(Number))].flatMap(n => api.activity.find(n) ?? [])
  return json(request, harOf(found.map(kept => archivedOf(kept, api.world, originOf(call)))))
}

async function resend(call: Call, id: string): Promise<ApiResponse> {
  const { handler, api, request } = call
  const edit = await readBody(request, handler.maxBodyBytes)
  const again = edited(findExchange(call, id).request, edit, prefixOf(call))
  const start = performance.now()
  api.activity.record(again, again.body, await handler.handle(again), start)
  return json(request, { n: api.activity.last() })
}

function prefixOf({ request, handler }: Call): string {
  const world = new URLSearchParams(request.query).get('world')
  const mount = world === null ? '' : `/worlds/${encodeURIComponent(world)}`
  return `${mount}${handler.basePath}/`
}

const MAX_ANIMALS = 1_000
/** A client's name can be as long as a request. */
const MAX_NAME = 200

export type Animals = Awaited<ReturnType<typeof animalsFrom>>
export type Animal = Animals['animals'][number]

async function animalsFrom({ request, api }: Call) {
  const from = Number(new URLSearchParams(request.query).get('from')) || 1
  const pets = await animalsOf(api).list({ limit: MAX_ANIMALS + 1, after: from - 1 || undefined })
  const animals = pets.slice(0, MAX_ANIMALS).map(pet => ({
    ...pet,
    name: pet.name.length > MAX_NAME ? `${pet.name.slice(0, MAX_NAME)}…` : pet.name,
    /** Digits, as browsers round the numbers of int64. */
    categoryId: String(pet.categoryId),
  }))
  return { animals, more: pets.length > MAX_ANIMALS }
}

async function createAnimal({ request, handler, api }: Call): Promise<ApiResponse> {
  const body = await readBody(request, handler.maxBodyBytes)
  const pet = await animalsOf(api).create(body as NewPet)
  return toAnswer(request.method, { status: 201, text: toJson(pet) })
}

function animalsOf({ world: { animals } }: MonitoredApi): NonNullable<ConsoleWorld['animals']> {
  if (!animals) throw notFound('This console has no access to the animals.')
  return animals
}

function findExchange({ api }: Call, id: string): Kept {
  const exchange = api.activity.find(Number(id))
  if (!exchange) throw notFound('This request is no longer kept.')
  return exchange
}

function json({ method }: ApiRequest, value: unknown): ApiResponse {
  return toAnswer(method, { text: JSON.stringify(value), headers: NOT_SHARED })
}
