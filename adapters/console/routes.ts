import {
  ApiError,
  invalidRequest,
  methodNotAllowed,
  notFound,
  unsupportedMediaType,
} from '../../src/errors.js'
import type { Awaitable } from '../../src/lib/async.js'
import { toJson } from '../../src/lib/json.js'
import type { NewPet } from '../../src/pets/schema.js'
import type { ApiHandler, ApiRequest, ApiResponse } from '../../src/protocol/api.js'
import { readBody } from '../../src/protocol/body.js'
import { withBodyRead } from '../exchanges/read-request.js'
import { toAnswer } from '../http/pages.js'
import type { Activity, Kept } from './activity.js'
import { contains, detailOf, type Shown } from './exchange-detail.js'
import { exported } from './export.js'
import type { Info } from './messages.js'
import type { ConsoleWorld } from './options.js'
import { pageFile } from './page-files.js'
import { edited } from './replay.js'
import type { ShowKeys } from './show-keys.js'
import type { Streams } from './streams.js'

export const CONSOLE_PATH = '/_console/'

/** An API that the console shows, with what it records of it. */
export interface MonitoredApi {
  readonly world: ConsoleWorld
  readonly activity: Activity
  readonly streams: Streams
  readonly showKeys: ShowKeys
}

/** A request below `/_console`, and what it is about. */
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
  const route = [name, id && '<n>', action].filter(Boolean).join('/')
  const methods = ROUTES.get(route)
  if (!methods) throw notFound('The console does not serve this path.')
  const run = Object.hasOwn(methods, method) ? methods[method] : undefined
  if (!run) throw methodNotAllowed(method, Object.keys(methods).join(', '))
  if (method === 'POST') refuseOtherPages(headers)
  return run(call, id)
}

const ROUTES: ReadonlyMap<string, Readonly<Partial<Record<string, Run>>>> = new Map([
  ['page.js', { GET: file('page.js') }],
  ['page.css', { GET: file('page.css') }],
  ['info', { GET: info }],
  ['events', { GET: openStream }],
  ['exchanges', { GET: searchExchanges }],
  ['exchanges/<n>', { GET: showExchange }],
  ['exchanges/<n>/replay', { POST: replay }],
  ['export', { POST: exportExchanges }],
  ['animals', { GET: listAnimals, POST: createAnimal }],
  ['animals/<n>', { GET: showLast }],
])

/** Other origins cannot send this type without a preflight, which the console does not answer. */
function refuseOtherPages(headers: ApiRequest['headers']): void {
  if (/^application\/json *(;|$)/i.test(headers['content-type'] ?? '')) return
  throw unsupportedMediaType('Send Content-Type: application/json.')
}

function file(name: 'page.js' | 'page.css'): Run {
  return async ({ request }) => toAnswer(request.method, await pageFile(name))
}

function info({ request, handler, api, control, worlds }: Call): ApiResponse {
  const { basePath } = handler
  const { animals, usage } = api.world
  const panels = { animals: animals !== undefined, budgets: usage !== undefined, control }
  return json(request, { basePath, panels, worlds } satisfies Info)
}

const MAX_STREAMS = 16

async function openStream({ request, api: { streams } }: Call): Promise<ApiResponse> {
  if (streams.size < MAX_STREAMS) return streams.open(request.headers['last-event-id'])
  throw new ApiError('invalid_request', `${MAX_STREAMS} consoles are open already; close one.`, {
    status: 503,
  })
}

function showExchange(call: Call, id: string): ApiResponse {
  const shown = call.api.showKeys()(findExchange(call, id))
  return json(call.request, detailOf(shown, originOf(call)))
}

/** Where the API is, for programs. */
function originOf({ request }: Call): string {
  return `http://${request.headers['host']}`
}

/** The numbers of those that contain a text, in path, query or a body. */
function searchExchanges({ request, api }: Call): ApiResponse {
  const text = new URLSearchParams(request.query).get('text') ?? ''
  const showing = api.showKeys()
  const matches = api.activity.since(0).filter(one => contains(showing(one), text))
  return json(request, { matches: matches.map(({ n }) => n) })
}

/** The exchanges with these numbers that are still kept, as a file. */
async function exportExchanges(call: Call): Promise<ApiResponse> {
  const { request, handler, api } = call
  const { format, numbers } = (await readBody(request, handler.maxBodyBytes)) as {
    format?: unknown
    numbers?: unknown
  }
  if (format !== 'har' && format !== 'json')
    throw invalidRequest('`format` must be one of har, json.')
  if (!Array.isArray(numbers)) throw invalidRequest('`numbers` must be a list of numbers.')
  const showing = api.showKeys()
  const found = numbers.flatMap((n): readonly Shown[] => {
    const exchange = api.activity.find(Number(n))
    return exchange ? [showing(exchange)] : []
  })
  return toAnswer(request.method, {
    text: exported(format, found, originOf(call)),
    headers: NOT_SHARED,
  })
}

/** Sends the request again as it was, with the key it had, or with the changes in the body. */
async function replay(call: Call, id: string): Promise<ApiResponse> {
  const { handler, api, request } = call
  const { request: original } = findExchange(call, id)
  const read = await withBodyRead(request)
  const edit = read.body?.length ? await readBody(read, handler.maxBodyBytes) : {}
  const again = edited(original, edit, prefixOf(call))
  const start = performance.now()
  const response = await handler.handle(again)
  api.activity.record(again, again.body, response, start)
  return json(request, { n: api.activity.last })
}

/** What the paths of the API begin with. */
function prefixOf({ request, handler }: Call): string {
  const world = new URLSearchParams(request.query).get('world')
  const mount = world === null ? '' : `/worlds/${encodeURIComponent(world)}`
  return `${mount}${handler.basePath}/`
}

const MAX_ANIMALS = 2_000
/** A name can be as long as a request. */
const MAX_NAME = 200

async function listAnimals({ request, api }: Call): Promise<ApiResponse> {
  const after = Number(new URLSearchParams(request.query).get('after')) || undefined
  const pets = await animalsOf(api).list({ limit: MAX_ANIMALS + 1, after })
  const shown = pets.slice(0, MAX_ANIMALS).map(pet => ({
    ...pet,
    name: pet.name.length > MAX_NAME ? `${pet.name.slice(0, MAX_NAME)}…` : pet.name,
    // As text: a browser would round the numbers of int64.
    categoryId: String(pet.categoryId),
  }))
  return json(request, { animals: shown, more: pets.length > MAX_ANIMALS })
}

/** `GET animals/last`: the greatest id. */
async function showLast({ request, api }: Call, id: string): Promise<ApiResponse> {
  if (id !== 'last') throw notFound('The console does not serve this path.')
  return json(request, { id: await lastId(animalsOf(api)) })
}

/** Found in a few look-ups by id, about two for each of its binary digits; 0 without animals. */
async function lastId({ list }: Pick<AnimalAccess, 'list'>): Promise<number> {
  const firstAfter = async (after: number) => (await list({ limit: 1, after }))[0]?.id
  let low = (await firstAfter(0)) ?? 0
  let high = low
  for (let step = 1; low > 0; step *= 2) {
    high = low + step
    const next = await firstAfter(high)
    if (next === undefined) break
    low = next
  }
  // There is an animal with the id `low`, and none above `high`.
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const next = await firstAfter(middle)
    if (next === undefined) high = middle
    else low = next
  }
  return low
}

async function createAnimal({ request, handler, api }: Call): Promise<ApiResponse> {
  const animals = animalsOf(api)
  const body = await readBody(request, handler.maxBodyBytes)
  const pet = await animals.create(body as NewPet)
  return toAnswer(request.method, { status: 201, text: toJson(pet) })
}

type AnimalAccess = NonNullable<ConsoleWorld['animals']>

function animalsOf({ world: { animals } }: MonitoredApi): AnimalAccess {
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

/** No page of another origin may even load it. */
export const NOT_SHARED = { 'Cross-Origin-Resource-Policy': 'same-origin' }
