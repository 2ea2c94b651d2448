import type { NewPet, Pet } from '../../src/model.js'
import {
  BASE_PATH,
  type Operation,
  PAGE_SIZE,
  PET_STATUSES,
  SUNSET,
} from '../../src/specification.js'
import { responseComponents, responsesOf } from './responses.js'
import { jsonSchemas, schemaRef } from './schemas.js'

export interface OpenApiOptions {
  /**
   * What the specification writes `{base_url}`.
   * @default an address that leads nowhere: the specification gives none
   */
  readonly baseUrl?: string | undefined
  /** What it writes `{staging_base_url}`. @default as above */
  readonly stagingBaseUrl?: string | undefined
  /** Also describe what the store option of that name adds. @default false */
  readonly pagination?: boolean | undefined
}

/** An OpenAPI 3.1 description, as plain data that JSON can hold. */
export interface OpenApiDocument {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string }
  readonly servers: readonly object[]
  readonly paths: Readonly<Record<string, object>>
  readonly components: Readonly<Record<string, object>>
  readonly [field: string]: unknown
}

/** Puts the description together; its responses and its schemas have files of their own. */
export function describeApi(options: OpenApiOptions): OpenApiDocument {
  const { baseUrl = nowhere('production'), stagingBaseUrl = nowhere('staging') } = options
  const { pagination = false } = options

  return {
    openapi: '3.1.1',
    info: INFO,
    servers: [
      server('{base_url}', 'Production', baseUrl),
      server('{staging_base_url}', 'Staging', stagingBaseUrl),
    ],
    security: [{ apiKey: [] }],
    tags: [
      { name: 'Pets', description: 'Animals available for adoption.' },
      { name: 'Store', description: 'Store orders: named by the specification, not served here.' },
    ],
    paths: {
      '/pets': { get: listPets(pagination), post: CREATE_PET },
      '/pets/{petId}': { get: GET_PET },
    },
    components: {
      schemas: jsonSchemas(),
      ...responseComponents(),
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'The API key is the bearer token.' },
      },
    },
  }
}

const NEW_REX = { name: 'Rex', categoryId: 1, status: PET_STATUSES[0] } satisfies NewPet
const REX = { id: 1, ...NEW_REX } satisfies Pet

const REMOVAL = new Date(SUNSET).toISOString().slice(0, 10)

const INFO = {
  title: 'Animal Adoption Store',
  version: '1.0.0',
  description: [
    'Browse and manage animals available for adoption.',
    'Every answer carries the limit that applies to the API key.',
    'Whatever cannot be read as HTTP is answered 400, 408 or 431 with the same Error body.',
  ].join(' '),
  license: { name: 'MIT', identifier: 'MIT' },
  contact: { name: 'Animal Adoption Store' },
}

/** The variable is the whole address, so the template is also its name. */
function server(url: string, environment: string, address: string) {
  const description = `The base address of ${environment.toLowerCase()}.`
  return {
    url,
    description: environment,
    variables: { [url.slice(1, -1)]: { default: address, description } },
  }
}

/** The specification gives no address; this top-level name is reserved never to lead anywhere. */
function nowhere(environment: string): string {
  return `https://${environment}.invalid${BASE_PATH}`
}

function operation(operationId: Operation, summary: string, description: string) {
  return { operationId, tags: ['Pets'], summary, description }
}

function listPets(pagination: boolean) {
  return {
    ...operation(
      'listPets',
      'List animals',
      'The first animals in ascending id, all or those of one status.',
    ),
    parameters: pagination ? [LIMIT, STATUS, AFTER] : [LIMIT, STATUS],
    responses: responsesOf(
      200,
      {
        schema: 'Pets',
        description: 'The animals, at most `limit`.',
        example: [REX],
        headers: pagination ? ['Link'] : [],
      },
      ['invalid_request'],
    ),
  }
}

const CREATE_PET = {
  ...operation('createPet', 'Add an animal', 'Stores an animal and gives it an id.'),
  requestBody: {
    description: 'The animal; fields that are not described are ignored.',
    required: true,
    content: {
      'application/json': {
        schema: { $ref: schemaRef('NewPet') },
        example: NEW_REX,
      },
    },
  },
  responses: responsesOf(
    201,
    {
      schema: 'Pet',
      description: 'The animal as it was stored.',
      example: REX,
      headers: ['Location'],
    },
    ['invalid_request', 'payload_too_large', 'unsupported_media_type'],
  ),
}

const GET_PET = {
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
  ),
}

const LIMIT = {
  name: 'limit',
  in: 'query',
  description: 'At most this many animals.',
  schema: { type: 'integer', ...PAGE_SIZE },
}

const STATUS = {
  name: 'status',
  in: 'query',
  description: 'Only animals with this status.',
  schema: { $ref: schemaRef('PetStatus') },
}

const AFTER = {
  name: 'after',
  in: 'query',
  description: 'Only animals with a higher id.',
  schema: { type: 'integer', format: 'int64', minimum: 0 },
}
