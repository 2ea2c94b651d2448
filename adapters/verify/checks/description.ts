import { OPERATIONS, PAGE_SIZE, PET_STATUSES } from '../../../src/pets/specification.js'
import { CheckSkipped } from '../check-failure.js'
import type { Reply, Subject } from '../check-types.js'
import * as expect from '../expect.js'
import { isObject, memberOf, objectOf } from '../read-reply.js'
import { checksOf, type Table } from './define-checks.js'

type Node = Readonly<Record<string, unknown>>

/** Paths within a description, separated by spaces, which names do not contain. */
const LIST = 'paths /pets get'
const CREATE = 'paths /pets post'
const GET = 'paths /pets/{petId} get'
const PLACES = [LIST, CREATE, GET]
const NEW_PET = `${CREATE} requestBody content application/json schema`
const CATEGORY = `${NEW_PET} properties categoryId`

const STATUSES = {
  [LIST]: ['200', '401'],
  [CREATE]: ['201', '400', '401'],
  [GET]: ['200', '401', '404'],
}

export const descriptionChecks = checksOf(
  { name: 'openapi', source: 'spec §4', needs: ['description'] },
  {
    document: {
      title: 'the description is an OpenAPI document as JSON',
      must: 'OpenAPI 3.1 §4.8.1',
      of: ({ description }) => description(),
      judge(reply) {
        expect.status(reply, 200)
        const version = memberOf(reply, 'openapi')
        const isVersion = typeof version === 'string' && /^[3-9]\./.test(version)
        expect.that(reply, isVersion, 'an `openapi` version of 3 or later')
      },
    },
    version: described(
      'its version is 1.0.0',
      'spec §9',
      '`info.version` 1.0.0',
      at => at('info version') === '1.0.0',
    ),
    operations: described(
      'it has the three operations',
      'spec §4',
      `the operations ${OPERATIONS.join(', ')}, each in its place`,
      at => PLACES.every((place, index) => at(`${place} operationId`) === OPERATIONS[index]),
    ),
    deprecated: described(
      'getPet, and only getPet, is deprecated',
      'spec §4.3',
      '`deprecated: true` in getPet alone',
      at => PLACES.every(place => (at(`${place} deprecated`) === true) === (place === GET)),
    ),
    security: described(
      'every operation needs a bearer token',
      'spec §5',
      'a bearer scheme in the `security` of every operation',
      at =>
        PLACES.every(place => {
          const given = at(`${place} security`) ?? at('security')
          if (!Array.isArray(given) || given.length === 0) return false
          return given.every(need => Object.keys(need as Node).some(name => isBearer(at, name)))
        }),
    ),
    limit: described(
      '`limit` is from 1 to 100, 20 by default',
      'spec §4.1',
      'a `limit` of 1, 100 and 20',
      at =>
        Object.entries(PAGE_SIZE).every(([name, value]) => parameter(at, 'limit', name) === value),
    ),
    status: described(
      '`status` has exactly the three values',
      'spec §2',
      `an \`enum\` of ${PET_STATUSES.join(', ')}`,
      at => isSame(parameter(at, 'status', 'enum'), PET_STATUSES),
    ),
    'new-pet': described(
      '`name` and `categoryId` are required',
      'spec §2',
      '`required` with `name` and `categoryId`, an int64 integer',
      at =>
        at(`${CATEGORY} type`) === 'integer' &&
        at(`${CATEGORY} format`) === 'int64' &&
        isSame(at(`${NEW_PET} required`), ['categoryId', 'name']),
    ),
    responses: described(
      'it has every status of the specification',
      'spec §4',
      'responses for 200 or 201, 400, 401 and 404 where they belong',
      at =>
        Object.entries(STATUSES).every(([place, statuses]) =>
          statuses.every(status => at(`${place} responses ${status}`) !== undefined),
        ),
    ),
  },
)

/** Returns the value at a path; undefined if there is none. */
type At = (path: string) => unknown

function described(
  title: string,
  must: string,
  expected: string,
  holds: (at: At) => boolean,
): Table[string] {
  return {
    title,
    must,
    of: documentOf,
    judge(reply) {
      const document = objectOf(reply)
      const at: At = path => valueAt(document, path.split(' '))
      expect.that(reply, holds(at), expected)
    },
  }
}

async function documentOf({ description }: Subject): Promise<Reply> {
  const reply = await description()
  if (reply.status === 200) return reply
  throw new CheckSkipped('there is no description')
}

function isBearer(at: At, name: string): boolean {
  const scheme = `components securitySchemes ${name}`
  const isHttp = at(`${scheme} type`) === 'http'
  return isHttp && String(at(`${scheme} scheme`)).toLowerCase() === 'bearer'
}

/** A field in the schema of a parameter of listPets. */
function parameter(at: At, name: string, field: string): unknown {
  const place = `${LIST} parameters`
  const all = at(place)
  const index = Object.keys(all ?? {}).find(index => at(`${place} ${index} name`) === name)
  return at(`${place} ${index} schema ${field}`)
}

/** Compares in any order. */
function isSame(values: unknown, expected: readonly string[]): boolean {
  return Array.isArray(values) && values.toSorted().join() === expected.toSorted().join()
}

/** Finds a value, following local references. */
function valueAt(document: Node, path: readonly string[]): unknown {
  let found: unknown = document
  for (const name of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined
    found = resolved(document, (found as Node)[name])
  }
  return found
}

function resolved(document: Node, value: unknown, depth = 0): unknown {
  if (!isObject(value) || typeof value['$ref'] !== 'string' || depth > 10) return value
  const names = value['$ref'].replace(/^#\//, '').split('/')
  const target = names
    .map(name => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((from: unknown, name) => (isObject(from) ? from[name] : undefined), document)
  return resolved(document, target, depth + 1)
}
