import { readFile } from 'node:fs/promises'
import type { ApiHandler } from '../../../src/protocol/api-request.js'
import { withPages } from '../../http/extra-pages.js'
import type { DocsOptions } from '../../pages/openapi/docs.js'
import { DEMO_KEYS } from '../../test-double/demo-keys.js'
import type { DescribedSettings } from '../options.js'
import { packagePath } from '../version.js'

/** Adds `/openapi.json`, `/docs` and `/llms.txt`, loaded on first request. */
export function withDocsOnDemand(handler: ApiHandler, options: DocsOptions): ApiHandler {
  let documented: Promise<ApiHandler> | undefined
  return {
    ...handler,
    handle(request) {
      if (request.path.startsWith(handler.basePath)) return handler.handle(request)
      documented ??= load()
      return documented.then(docs => docs.handle(request))
    },
  }

  async function load(): Promise<ApiHandler> {
    const { withDocs } = await import('../../pages/openapi/docs.js')
    const llms = async () => ({ type: 'text/plain; charset=utf-8', text: await llmsText() })
    return withPages(withDocs(handler, options), new Map([['/llms.txt', llms]]))
  }
}

export function describedBy({ keys, pagination, rateLimiting, idempotency }: DescribedSettings) {
  const demoKeys = keys === undefined ? Object.keys(DEMO_KEYS) : []
  return { pagination, rateLimiting, idempotency: idempotency !== undefined, demoKeys }
}

/** The page for coding agents; its front matter says when to read it. */
export function skill(): Promise<string> {
  return readFile(packagePath('adapters/cli/animal-adoption-store/SKILL.md'), 'utf8')
}

/** Formats the page as https://llmstxt.org describes: a title, a summary, the rest, and links. */
async function llmsText(): Promise<string> {
  const [, summary, title, rest] =
    /^---\n[\s\S]*?^description: (.*)\n---\n\n(# .*\n)([\s\S]*)$/m.exec(await skill()) ?? []
  return `${title}\n> ${summary}\n${rest}${LINKS}`
}

const LINKS = `
## Reference

- [OpenAPI 3.1](/openapi.json): the operations, schemas and errors
- [Documentation](/docs): the same for people
`
