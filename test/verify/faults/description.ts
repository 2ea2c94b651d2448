import { toJson } from '../../../src/index.js'
import { bodies, type Json, type PlantedFault } from '../faulty-server.js'

export const descriptionFaults: readonly PlantedFault[] = [
  ...Object.entries<(document: Json) => Json>({
    document: document => ({ ...document, openapi: '2.0' }),
    version: document => ({ ...document, info: { version: '2.0.0' } }),
    operations: changed('"operationId":"listPets"', '"operationId":"getPets"'),
    deprecated: changed('"deprecated":true', '"deprecated":false'),
    security: document => ({ ...document, security: [] }),
    limit: changed('"maximum":100', '"maximum":50'),
    status: changed('"pending"', '"reserved"'),
    'new-pet': changed('"required":["name","categoryId"]', '"required":["name"]'),
    responses: changed('"404":', '"410":'),
  }).map(
    ([name, edit]): PlantedFault => ({
      name: `describes another ${name}`,
      caughtBy: `openapi.${name}`,
      wrong: bodies(({ path }) => path === '/openapi.json', edit),
    }),
  ),
]

function changed(from: string, to: string): (document: Json) => Json {
  return document => {
    const text = toJson(document)
    if (!text.includes(from)) throw new Error(`The description has no ${from}`)
    return JSON.parse(text.replaceAll(from, to)) as Json
  }
}
