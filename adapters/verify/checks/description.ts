import { OPERATIONS, PAGE_SIZE, PET_STATUSES } from '../../../src/pets/specification.js'
import type { Reply, Subject } from '../check.js'
import * as expect from '../expect.js'
import { CheckSkipped } from '../failure.js'
import { isObject, memberOf, objectOf } from '../replies.js'
import { checksOf } from './table.js'

type Node = Readonly<Record<string, unknown>>

const PLACES = [
  ['paths', '/pets', 'get'],
  ['paths', '/pets', 'post'],
  ['paths', '/pets/{petId}', 'get'],
] as const
/** In the order of the places. */
const STATUSES = [
  ['200', '401'],
  ['201', '400', '401'],
  ['200', '401', '404'],
]
const NEW_PET = [...PLACES[1], 'requestBody', 'content', 'application/json', 'schema']

/** The OpenAPI description that a server serves. */
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
    version: {
      title: 'its version is 1.0.0',
      must: 'spec §9',
      ...expecting('`info.version` 1.0.0', at => at('info', 'version') === '1.0.0'),
    },
    operations: {
      title: 'it has the three operations',
      ...expecting(`the operations ${OPERATIONS.join(', ')}, each in its place`, at =>
        PLACES.every((place, index) => at(...place, 'operationId') === OPERATIONS[index]),
      ),
    },
    deprecated: {
      title: 'getPet, and only getPet, is deprecated',
      must: 'spec §4.3',
      ...expecting('`deprecated: true` in getPet alone', at =>
        PLACES.every((place, index) => (at(...place, 'deprecated') === true) === (index === 2)),
      ),
    },
    security: {
      title: 'every operation needs a bearer token',
      must: 'spec §5',
      ...expecting('a bearer scheme in the `security` of every operation', at =>
        PLACES.every(place => {
          const given = at(...place, 'security') ?? at('security')
          if (!Array.isArray(given) || given.length === 0) return false
          return given.every(need => Object.keys(need as Node).some(name => isBearer(at, name)))
        }),
      ),
    },
    limit: {
      title: '`limit` is from 1 to 100, 20 by default',
      must: 'spec §4.1',
      ...expecting('a `limit` of 1, 100 and 20', at =>
        Object.entries(PAGE_SIZE).every(
          ([name, value]) => at(...parameter(at, 'limit'), name) === value,
        ),
      ),
    },
    status: {
      title: '`status` has exactly the three values',
      must: 'spec §2',
      ...expecting(`an \`enum\` of ${PET_STATUSES.join(', ')}`, at =>
        isSame(at(...parameter(at, 'status'), 'enum'), PET_STATUSES),
      ),
    },
    'new-pet': {
      title: '`name` and `categoryId` are required',
      must: 'spec §2',
      ...expecting('`required` with `name` and `categoryId`, an int64 integer', at => {
        const categoryId = [...NEW_PET, 'properties', 'categoryId']
        const isInt64 = at(...categoryId, 'type') === 'integer'
        const hasFormat = at(...categoryId, 'format') === 'int64'
        return isInt64 && hasFormat && isSame(at(...NEW_PET, 'required'), ['categoryId', 'name'])
      }),
    },
    responses: {
      title: 'it has every status of the specification',
      ...expecting('responses for 200 or 201, 400, 401 and 404 where they belong', at =>
        PLACES.every((place, index) =>
          STATUSES[index]?.every(status => at(...place, 'responses', status) !== undefined),
        ),
      ),
    },
  },
)

/** What is at a path of the description; undefined if nothing is. */
type At = (...path: readonly string[]) => unknown

function expecting(expected: string, holds: (at: At) => boolean) {
  return {
    of: documentOf,
    judge(reply: Reply) {
      const document = objectOf(reply)
      expect.that(
        reply,
        holds((...path) => valueAt(document, path)),
        expected,
      )
    },
  }
}

async function documentOf({ description }: Subject): Promise<Reply> {
  const reply = await description()
  if (reply.status === 200) return reply
  throw new CheckSkipped('there is no description')
}

function isBearer(at: At, name: string): boolean {
  const scheme = ['components', 'securitySchemes', name]
  const isHttp = at(...scheme, 'type') === 'http'
  return isHttp && String(at(...scheme, 'scheme')).toLowerCase() === 'bearer'
}

/** The path of the schema of a parameter of listPets. */
function parameter(at: At, name: string): readonly string[] {
  const place = [...PLACES[0], 'parameters']
  const all = at(...place)
  const index = Array.isArray(all)
    ? all.findIndex((_, at_) => at(...place, `${at_}`, 'name') === name)
    : -1
  return [...place, `${index}`, 'schema']
}

/** In any order. */
function isSame(values: unknown, expected: readonly string[]): boolean {
  return Array.isArray(values) && values.toSorted().join() === expected.toSorted().join()
}

/** With local references followed. */
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
