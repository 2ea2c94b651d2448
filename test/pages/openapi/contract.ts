import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { OpenApiDocument } from '../../../adapters/pages/openapi/index.js'
import type { ApiHandler, ApiRequest, ApiResponse } from '../../../src/index.js'

export type Contract = ReturnType<typeof createContract>

/** Compares a description with actual responses. */
export function createContract(document: OpenApiDocument) {
  const ajv = new Ajv2020({ allErrors: true, strict: false, validateSchema: false })
  // JSON Schema can check only the syntax of an integer.
  ajv.addFormat('int64', true)
  ajv.addSchema(document, 'openapi')
  const validators = new Map<object, ValidateFunction>()
  const violations: string[] = []
  const reached = new Set<string>()
  const paths = document.paths as Readonly<Record<string, PathItem>>

  return {
    /** Differences between responses and the description, one line each. */
    violations,
    /** `GET /pets 200`, for every documented status. */
    documented: Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).flatMap(([method, { responses }]) =>
        Object.keys(responses).map(status => `${method.toUpperCase()} ${path} ${status}`),
      ),
    ),
    /** Those that occurred, sorted. */
    reached: () => [...reached].toSorted(),
    check,
    /** The same handler, with every response checked. */
    watch: (handler: ApiHandler): ApiHandler => ({
      ...handler,
      async handle(request) {
        const answer = await handler.handle(request)
        const path = templateOf(request.path.slice(handler.basePath.length))
        const item = request.path.startsWith(`${handler.basePath}/`) ? paths[path] : undefined
        if (item) judge(path, item, request, answer)
        return answer
      },
    }),
  }

  function judge(path: string, item: PathItem, request: ApiRequest, answer: ApiResponse): void {
    // Preflights belong to the Fetch standard, not to the API.
    if (answer.status === 204 && request.method === 'OPTIONS') return
    const method = request.method === 'HEAD' ? 'get' : request.method.toLowerCase()
    // Undocumented methods share the description of their path.
    const methods = item[method] ? [method] : Object.keys(item)
    for (const name of methods) {
      const at = `${name.toUpperCase()} ${path} ${answer.status}`
      const found = item[name]?.responses[answer.status]
      if (!found) violations.push(`${at} is not documented`)
      else {
        reached.add(at)
        for (const problem of problems(resolve(found) as ResponseObject, request, answer)) {
          violations.push(`${at}: ${problem}`)
        }
      }
    }
  }

  function problems(response: ResponseObject, request: ApiRequest, answer: ApiResponse): string[] {
    const found: (string | undefined)[] = []
    for (const [name, reference] of Object.entries(response.headers)) {
      const { required, schema } = resolve(reference) as HeaderObject
      const text = answer.headers[name]
      if (text === undefined) found.push(required ? `${name} is missing` : undefined)
      else found.push(check(schema, schema.type === 'integer' ? Number(text) : text))
    }
    if (request.method !== 'HEAD') {
      const { schema } = response.content['application/json']
      found.push(check(schema, JSON.parse(answer.body)))
    }
    return found.filter(problem => problem !== undefined)
  }

  /** Why a value violates a schema of the description; undefined if it does not. */
  function check(schema: object, value: unknown): string | undefined {
    const validate = validators.get(schema) ?? compile(schema)
    validators.set(schema, validate)
    return validate(value) ? undefined : ajv.errorsText(validate.errors)
  }

  function compile(schema: object): ValidateFunction {
    return ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openapi#/')))
  }

  /** The target of a local reference, or the value itself. */
  function resolve(thing: object): unknown {
    if (!('$ref' in thing)) return thing
    const names = String(thing.$ref).slice(2).split('/')
    return names.reduce((at: unknown, name) => (at as Record<string, unknown>)[name], document)
  }
}

type PathItem = Readonly<Record<string, { readonly responses: Readonly<Record<string, object>> }>>

interface HeaderObject {
  readonly required?: boolean
  readonly schema: { readonly type?: string }
}

interface ResponseObject {
  readonly headers: Readonly<Record<string, object>>
  readonly content: { readonly 'application/json': { readonly schema: object } }
}

function templateOf(path: string): string {
  return path.replace(/^\/pets\/[^/]+$/, '/pets/{petId}')
}
