import {
  isBoolean,
  isText,
  type OptionsOf,
  rule,
  type SettingsOf,
  withDefault,
} from '../../../src/lib/check-options.js'
import { RATE_LIMIT_MODE, type RateLimitMode } from '../../../src/limits/mode.js'
import type { NewPet, Pet } from '../../../src/pets/schema.js'
import {
  BASE_PATH,
  type Operation,
  PAGE_SIZE,
  PET_STATUSES,
  SUNSET,
} from '../../../src/pets/specification.js'
import { type Features, responseComponents, responsesOf } from './responses.js'
import { jsonSchemas, schemaRef } from './schemas.js'

export const OPENAPI_OPTIONS = {
  /**
   * The specification's `{base_url}`.
   * @default an address that leads nowhere: the specification gives none
   */
  baseUrl: withDefault(isText, nowhere('production')),
  /** The specification's `{staging_base_url}`. @default as above */
  stagingBaseUrl: withDefault(isText, nowhere('staging')),
  /** Describes the store option of the same name. @default false */
  pagination: withDefault(isBoolean, false),
  /**
   * The store option of the same name: `false` omits the rate limit headers and 429, `'shadow'`
   * only 429.
   * @default true
   */
  rateLimiting: withDefault(RATE_LIMIT_MODE, true),
  /** Describes `Idempotency-Key`, for a store with the option of the same name. @default false */
  idempotency: withDefault(isBoolean, false),
  /** Public keys, shown in the description of the security scheme. @default none */
  demoKeys: withDefault(
    rule<readonly string[]>(
      'an array of strings',
      keys => Array.isArray(keys) && keys.every(key => typeof key === 'string'),
    ),
    [],
  ),
}
/**
 * @example
 * import { openApiJson } from 'animal-adoption-store/openapi'
 *
 * const text = openApiJson({ baseUrl: 'https://pets.example.org/v1' })
 * console.log(text.includes('https://pets.example.org/v1')) // prints true
 */
export interface OpenApiOptions extends OptionsOf<typeof OPENAPI_OPTIONS> {}

export interface OpenApiDocument {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string }
  readonly servers: readonly object[]
  readonly paths: Readonly<Record<string, object>>
  readonly components: Readonly<Record<string, object>>
  readonly [field: string]: unknown
}

export function describeApi(options: SettingsOf<typeof OPENAPI_OPTIONS>): OpenApiDocument {
  const { baseUrl, stagingBaseUrl, pagination, rateLimiting, idempotency, demoKeys } = options
  const features = { rateLimiting, idempotency }
  const example = demoKeys.length === 0 ? '' : ` Demo keys: ${demoKeys.join(', ')}.`

  return {
    openapi: '3.1.1',
    info: infoOf(rateLimiting),
    servers: [
      server('{base_url}', 'Production', baseUrl),
      server('{staging_base_url}', 'Staging', stagingBaseUrl),
    ],
    security: [{ apiKey: [] }],
    tags: [
      { name: 'Pets', description: 'Animals available for adoption.' },
      {
        name: 'Store',
        description: 'Store orders: mentioned by the specification, not served here.',
      },
    ],
    paths: {
      '/pets': { get: listPets(pagination, features), post: createPet(features) },
      '/pets/{petId}': { get: getPet(features) },
    },
    components: {
      schemas: jsonSchemas(),
      ...responseComponents(features),
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: `The API key is the bearer token.${example}`,
        },
      },
    },
  }
}

const NEW_REX = { name: 'Rex', categoryId: 1, status: PET_STATUSES[0] } satisfies NewPet
const REX = { id: 1, ...NEW_REX } satisfies Pet

const REMOVAL = new Date(SUNSET).toISOString().slice(0, 10)

function infoOf(rateLimiting: RateLimitMode) {
  const sentences = [
    'Browse and manage animals available for adoption.',
    ...(rateLimiting ? ['Every response reports the rate limit that applies to the API key.'] : []),
    'Requests that are not valid HTTP/1.1 get 400, 408, 431 or 501 with the same Error body.',
  ]
  return {
    title: 'Animal Adoption Store',
    version: '1.0.0',
    description: sentences.join(' '),
    license: { name: 'MIT', identifier: 'MIT' },
    contact: { name: 'Animal Adoption Store' },
  }
}

/** The variable holds the whole address, so the template is its name. */
function server(url: string, environment: string, address: string) {
  const description = `The base URL of ${environment.toLowerCase()}.`
  return {
    url,
    description: environment,
    variables: { [url.slice(1, -1)]: { default: address, description } },
  }
}

/** The specification gives no address, so this one is in a domain that never resolves. */
function nowhere(environment: string): string {
  return `https://${environment}.invalid${BASE_PATH}`
}

function operation(operationId: Operation, summary: string, description: string) {
  return { operationId, tags: ['Pets'], summary, description }
}

function listPets(pagination: boolean, features: Features) {
  return {
    ...operation(
      'listPets',
      'List animals',
      'Returns the animals with the lowest ids, of every status or of one.',
    ),
    parameters: pagination ? [LIMIT, STATUS, AFTER] : [LIMIT, STATUS],
    responses: responsesOf(
      200,
      {
        schema: 'Pets',
        description: 'At most `limit` animals.',
        example: [REX],
        headers: pagination ? ['Link'] : [],
      },
      ['invalid_request'],
      features,
    ),
  }
}

function createPet(features: Features) {
  return {
    ...operation('createPet', 'Add an animal', 'Stores an animal and assigns it an id.'),
    ...(features.idempotency && { parameters: [IDEMPOTENCY_KEY] }),
    requestBody: {
      description: 'The animal to add. Unknown fields are ignored.',
      required: true,
      content: { 'application/json': { schema: { $ref: schemaRef('NewPet') }, example: NEW_REX } },
    },
    responses: responsesOf(
      201,
      {
        schema: 'Pet',
        description: 'The animal as stored.',
        example: REX,
        headers: features.idempotency ? ['Location', 'Idempotent-Replayed'] : ['Location'],
      },
      ['invalid_request', 'payload_too_large', 'unsupported_media_type', 'idempotency_key_reused'],
      features,
    ),
  }
}

function getPet(features: Features) {
  return {
    ...operation(
      'getPet',
      'Get an animal',
      `Deprecated, to be removed on ${REMOVAL}: use \`GET /pets\` with a \`status\`.`,
    ),
    deprecated: true,
    'x-sunset': REMOVAL,
    parameters: [
      {
        name: 'petId',
        in: 'path',
        required: true,
        description: 'The id of the animal.',
        schema: { type: 'integer', format: 'int64' },
        example: REX.id,
      },
    ],
    responses: responsesOf(
      200,
      { schema: 'Pet', description: 'The animal.', example: REX, headers: ['Link', 'Sunset'] },
      ['not_found', 'gone'],
      features,
    ),
  }
}

const LIMIT = {
  name: 'limit',
  in: 'query',
  description: 'The maximum number of animals to return.',
  schema: { type: 'integer', ...PAGE_SIZE },
}

const STATUS = {
  name: 'status',
  in: 'query',
  description: 'Return only animals with this status.',
  schema: { $ref: schemaRef('PetStatus') },
}

const AFTER = {
  name: 'after',
  in: 'query',
  description: 'Return only animals with a higher id.',
  schema: { type: 'integer', format: 'int64', minimum: 0 },
}

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'Names the create: sent again with the same key, it gets the first response and stores no other animal. A Structured Field string of 1 to 255 characters.',
  schema: { type: 'string' },
  example: '"8e03978e-40d5-43dd-bc93-6894a57f9324"',
}
