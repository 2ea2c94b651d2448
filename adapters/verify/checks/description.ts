import { PET_STATUSES } from '../../../src/pets/specification.js'
import { CheckSkipped } from '../check-failure.js'
import type { Reply, Subject } from '../check-types.js'
import * as expect from '../expect.js'
import { isObject, memberOf, objectOf } from '../read-reply.js'
import { checksOf, type Group, type Table } from './define-checks.js'

type Node = Readonly<Record<string, unknown>>

/** Paths within a description, separated by spaces, which names do not contain. */
const LIST = 'paths /pets get'
const CREATE = 'paths /pets post'
const GET = 'paths /pets/{petId} get'
const PLACES = [LIST, CREATE, GET]
const LIMIT = `${LIST} parameters limit schema`
const NEW_PET = `${CREATE} requestBody content application/json schema`
const CATEGORY = `${NEW_PET} properties categoryId`

const GROUP: Group = { name: 'openapi', source: 'spec §4', needs: ['description'] }

export const descriptionChecks = checksOf(GROUP, {
  document: {
    title: 'the description is an OpenAPI document as JSON',
    must: 'OpenAPI 3.1 §4.8.1',
    async run({ description }) {
      const reply = await description()
      expect.status(reply, 200)
      const version = memberOf(reply, 'openapi')
      const isVersion = typeof version === 'string' && /^[3-9]\./.test(version)
      expect.that(reply, isVersion, 'an `openapi` version of 3 or later')
    },
  },
  version: described('its version is 1.0.0', 'spec §9', { 'info version': '1.0.0' }),
  operations: described('it has the three operations', 'spec §4', {
    [`${LIST} operationId`]: 'listPets',
    [`${CREATE} operationId`]: 'createPet',
    [`${GET} operationId`]: 'getPet',
  }),
  deprecated: described('getPet, and only getPet, is deprecated', 'spec §4.3', {
    [`${LIST} deprecated`]: false,
    [`${CREATE} deprecated`]: false,
    [`${GET} deprecated`]: true,
  }),
  security: {
    title: 'every operation needs a bearer token',
    must: 'spec §5',
    async run(subject) {
      const reply = await documentOf(subject)
      const document = objectOf(reply)
      const open = PLACES.find(place => !needsBearer(document, place))
      expect.that(reply, open === undefined, `a bearer scheme in the \`security\` of ${open}`)
    },
  },
  limit: described('`limit` is from 1 to 100, 20 by default', 'spec §4.1', {
    [`${LIMIT} minimum`]: 1,
    [`${LIMIT} maximum`]: 100,
    [`${LIMIT} default`]: 20,
  }),
  status: described('`status` has exactly the three values', 'spec §2', {
    [`${LIST} parameters status schema enum`]: PET_STATUSES,
  }),
  'new-pet': described('`name` and `categoryId`, an int64 integer, are required', 'spec §2', {
    [`${CATEGORY} type`]: 'integer',
    [`${CATEGORY} format`]: 'int64',
    [`${NEW_PET} required`]: ['name', 'categoryId'],
  }),
  responses: described('it has every status of the specification', 'spec §4', {
    [`${LIST} responses`]: ['200', '401'],
    [`${CREATE} responses`]: ['201', '400', '401'],
    [`${GET} responses`]: ['200', '401', '404'],
  }),
})

/** @param facts values by path: for a list exactly these, for an object at least these names */
function described(
  title: string,
  must: string,
  facts: Readonly<Record<string, string | number | boolean | readonly string[]>>,
): Table[string] {
  return {
    title,
    must,
    async run(subject) {
      const reply = await documentOf(subject)
      const document = objectOf(reply)
      for (const [path, expected] of Object.entries(facts)) {
        const holds = isAs(valueAt(document, path), expected)
        expect.that(reply, holds, `\`${path}\` ${expected}`)
      }
    },
  }
}

async function documentOf({ description }: Subject): Promise<Reply> {
  const reply = await description()
  if (reply.status === 200) return reply
  throw new CheckSkipped('there is no description')
}

function isAs(found: unknown, expected: unknown): boolean {
  if (!Array.isArray(expected)) return (found ?? false) === expected
  if (isObject(found)) return expected.every(name => name in found)
  return Array.isArray(found) && found.toSorted().join() === expected.toSorted().join()
}

function needsBearer(document: Node, place: string): boolean {
  const given = valueAt(document, `${place} security`) ?? document['security']
  if (!Array.isArray(given) || given.length === 0) return false
  return given.every(need => Object.keys(need).some(name => isBearer(document, name)))
}

function isBearer(document: Node, name: string): boolean {
  const scheme = valueAt(document, `components securitySchemes ${name}`)
  if (!isObject(scheme)) return false
  return scheme['type'] === 'http' && String(scheme['scheme']).toLowerCase() === 'bearer'
}

/** Finds a value, following local references; parameters by their names. */
function valueAt(document: Node, path: string): unknown {
  let found: unknown = document
  for (const name of path.split(' ')) {
    const inside = Array.isArray(found)
      ? found.map(one => resolved(document, one)).find(one => isObject(one) && one['name'] === name)
      : isObject(found) && Object.hasOwn(found, name) && found[name]
    if (!inside) return undefined
    found = resolved(document, inside)
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
