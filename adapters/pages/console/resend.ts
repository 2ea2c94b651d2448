import { invalidRequest } from '../../../src/api-error.js'
import { utf8Length } from '../../../src/lib/utf8.js'
import * as z from '../../../src/lib/zod.js'
import { splitTarget } from '../../http/target-and-body.js'
import type { ReadRequest } from '../../verdict/log/read-request.js'
import { REDACTED } from '../../verdict/log/redact.js'

/** Changes to a request before it is sent again. A header with `REDACTED` keeps its value. */
const editSchema = z.strictObject({
  method: z.exactOptional(z.string()),
  target: z.exactOptional(z.string()),
  headers: z.exactOptional(z.array(z.tuple([z.string(), z.string()]))),
  body: z.exactOptional(z.string()),
})
export type Edit = Readonly<z.infer<typeof editSchema>>

/** @param prefix required of the path, so that only the API can be called @throws ApiError */
export function edited(request: ReadRequest, edit: unknown, prefix: string): ReadRequest {
  const parsed = editSchema.safeParse(edit)
  if (!parsed.success)
    throw invalidRequest('Send `method`, `target` and `body` as text, `headers` as pairs of text.')
  const { target, headers: given, body, method = request.method } = parsed.data
  const { path, query } = splitTarget(target ?? '')
  if (target !== undefined && !path.startsWith(prefix))
    throw invalidRequest(`\`target\` must begin with ${prefix}.`)
  const headers = given
    ? Object.fromEntries(given.map(pair => headerOf(pair, request.headers)))
    : request.headers
  const { 'transfer-encoding': _chunked, ...unframed } = headers
  return {
    ...request,
    method,
    ...(target !== undefined && { path, query }),
    headers:
      body === undefined ? headers : { ...unframed, 'content-length': String(utf8Length(body)) },
    ...(body !== undefined && { body }),
  }
}

function headerOf(
  [name, value]: readonly [string, string],
  original: ReadRequest['headers'],
): readonly [string, string] {
  const lower = name.toLowerCase()
  return [lower, value.includes(REDACTED) ? (original[lower] ?? value) : value]
}
