import { OPERATIONS, PAGE_SIZE, PET_STATUSES } from '../../../src/pets/specification.js'
import { type Check, must, type Reply, type Requirement, type Subject } from '../check.js'
import { expectStatus, expectThat, isObject, objectOf } from '../expect.js'
import { CheckSkipped } from '../failure.js'

type Node = Readonly<Record<string, unknown>>

/** The OpenAPI description that a server serves. */
export const descriptionChecks: readonly Check[] = [
  {
    id: 'openapi.document',
    requirement: must('OpenAPI 3.1 §4.8.1'),
    title: 'the description is an OpenAPI document as JSON',
    requests: 1,
    needs: ['description'],
    async run({ description }) {
      const reply = await description()
      expectStatus(reply, 200)
      const { openapi } = await objectOf(reply)
      const isVersion = typeof openapi === 'string' && /^[3-9]\./.test(openapi)
      expectThat(reply, isVersion, 'an `openapi` version of 3 or later')
    },
  },
  described('version', must('spec §9'), 'its version is 1.0.0', document =>
    at(document, 'info', 'version') === '1.0.0' ? undefined : '`info.version` 1.0.0',
  ),
  described('operations', must('spec §4'), 'it has the three operations', document => {
    const found = PLACES.map(([path, method]) => at(document, 'paths', path, method, 'operationId'))
    const missing = OPERATIONS.find((name, index) => found[index] !== name)
    return missing && `the operation ${missing} in its place`
  }),
  described('deprecated', must('spec §4.3'), 'getPet, and only getPet, is deprecated', document => {
    const flags = PLACES.map(place => at(document, 'paths', ...place, 'deprecated') === true)
    return flags.join() === 'false,false,true' ? undefined : '`deprecated: true` in getPet alone'
  }),
  described('security', must('spec §5'), 'every operation needs a bearer token', document => {
    const bearers = Object.entries(nodeAt(document, 'components', 'securitySchemes')).filter(
      ([name]) =>
        at(document, 'components', 'securitySchemes', name, 'type') === 'http' &&
        String(at(document, 'components', 'securitySchemes', name, 'scheme')).toLowerCase() ===
          'bearer',
    )
    const isSecured = PLACES.every(place => {
      const given = at(document, 'paths', ...place, 'security') ?? at(document, 'security')
      if (!Array.isArray(given) || given.length === 0) return false
      return given.every(need => bearers.some(([name]) => Object.hasOwn(need as Node, name)))
    })
    return isSecured ? undefined : 'a bearer scheme in the `security` of every operation'
  }),
  described('limit', must('spec §4.1'), '`limit` is from 1 to 100, 20 by default', document => {
    const { minimum, maximum, default: usual } = parameterSchema(document, 'limit')
    const given = [minimum, maximum, usual].map(String).join()
    const { minimum: least, maximum: most, default: standard } = PAGE_SIZE
    return given === [least, most, standard].join() ? undefined : 'a `limit` of 1, 100 and 20'
  }),
  described('status', must('spec §2'), '`status` has exactly the three values', document => {
    const values = parameterSchema(document, 'status')['enum']
    const sorted = Array.isArray(values) ? values.toSorted().join() : ''
    return sorted === PET_STATUSES.join() ? undefined : `an \`enum\` of ${PET_STATUSES.join(', ')}`
  }),
  described('new-pet', must('spec §2'), '`name` and `categoryId` are required', document => {
    const schema = nodeAt(document, 'paths', '/pets', 'post', 'requestBody', ...CONTENT)
    const required = Array.isArray(schema['required']) ? schema['required'].toSorted().join() : ''
    if (required !== 'categoryId,name') return '`required` with `name` and `categoryId`'
    const { type, format } = nodeAt({ ...document, schema }, 'schema', 'properties', 'categoryId')
    return type === 'integer' && format === 'int64' ? undefined : '`categoryId` as an int64 integer'
  }),
  described('responses', must('spec §4'), 'it has every status of the specification', document => {
    const missing = PLACES.flatMap(place => {
      const documented = nodeAt(document, 'paths', ...place, 'responses')
      const expected = STATUSES[place[1] === 'post' ? 'post' : place[0]] ?? []
      return expected.filter(status => !Object.hasOwn(documented, status))
    })
    return missing.length === 0 ? undefined : `responses for ${missing.join(', ')}`
  }),
]

const PLACES = [
  ['/pets', 'get'],
  ['/pets', 'post'],
  ['/pets/{petId}', 'get'],
] as const

const CONTENT = ['content', 'application/json', 'schema']

const STATUSES: Readonly<Record<string, readonly string[]>> = {
  '/pets': ['200', '401'],
  post: ['201', '400', '401'],
  '/pets/{petId}': ['200', '401', '404'],
}

/** @param issue what is expected instead; undefined if all is well */
function described(
  name: string,
  requirement: Requirement,
  title: string,
  issue: (document: Node) => string | undefined,
): Check {
  return {
    id: `openapi.${name}`,
    requirement,
    title,
    requests: 1,
    needs: ['description'],
    async run(subject) {
      const { reply, document } = await documentOf(subject)
      const expected = issue(document)
      expectThat(reply, expected === undefined, expected ?? '')
    },
  }
}

async function documentOf({ description }: Subject): Promise<{ reply: Reply; document: Node }> {
  const reply = await description()
  if (reply.status !== 200) throw new CheckSkipped('there is no description')
  return { reply, document: await objectOf(reply) }
}

function parameterSchema(document: Node, name: string): Node {
  const parameters = at(document, 'paths', '/pets', 'get', 'parameters')
  const all = Array.isArray(parameters) ? parameters : []
  const index = all.findIndex(
    (_, at_) => nodeAt({ ...document, all }, 'all', `${at_}`)['name'] === name,
  )
  return nodeAt({ ...document, all }, 'all', `${index}`, 'schema')
}

function nodeAt(document: Node, ...path: readonly string[]): Node {
  const found = at(document, ...path)
  return isObject(found) ? found : {}
}

/** What is at a path, with local references followed. */
function at(document: Node, ...path: readonly string[]): unknown {
  let found: unknown = document
  for (const name of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined
    found = resolve(document, (found as Node)[name])
  }
  return found
}

function resolve(document: Node, value: unknown, depth = 0): unknown {
  if (!isObject(value) || typeof value['$ref'] !== 'string' || depth > 10) return value
  const names = value['$ref'].replace(/^#\//, '').split('/')
  const target = names
    .map(name => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((from: unknown, name) => (isObject(from) ? from[name] : undefined), document)
  return resolve(document, target, depth + 1)
}
