import { nearest } from '../../../src/lib/did-you-mean.js'
import { BASE_PATH } from '../../../src/pets/specification.js'
import { FIELDS, unknownNames } from '../../verdict/log/exchange.js'
import type { Redact } from '../../verdict/log/redact.js'
import type { Kept } from './activity.js'

/** Names likely mistakes of the sender, and rejections that shadow mode suppressed. */
export function hintsOf({ request, response }: Kept, redact: Redact): readonly string[] {
  const { operation, shadowed } = response.about ?? {}
  const { path, query, body } = request
  const hints = shadowed ? [`Without shadow mode: 429 \`${shadowed}\`.`] : []
  if (operation === undefined) return [...hints, ...(response.status === 404 ? pathHint(path) : [])]
  const [, noId] = NO_ID.exec(path) ?? []
  if (noId !== undefined) return [...hints, `The client made \`${noId}\` of a value that is no id.`]
  const isLong = (body?.length ?? 0) > LONGEST_BODY
  const parameters = operation === 'listPets' ? PARAMETERS : []
  const names = unknownNames(operation, isLong ? { ...request, body: '' } : request, parameters)
  return [
    ...hints,
    ...[...new Set(names)].slice(0, MOST_NAMES).map(name => {
      const isParameter = new URLSearchParams(query).has(name)
      const subject = isParameter ? `a parameter of ${operation}` : 'a field of an animal'
      const meant = nearest(name, isParameter ? parameters : FIELDS)
      const rest = meant ? `; did you mean \`${meant}\`?` : ', and is ignored.'
      return `\`${redact(name.slice(0, LONGEST_NAME))}\` is not ${subject}${rest}`
    }),
  ]

  /** Recognizes `/v1/pet`, `/v1/Pets/7/` and `/pets`. */
  function pathHint(path: string): readonly string[] {
    const [, base = BASE_PATH, rest = ''] = /^(.*?\/v\d+)?\/(.+)$/.exec(path) ?? []
    const [first = '', ...others] = rest.split('/').filter(part => part !== '')
    if (nearest(first, ['pets']) === undefined) return []
    return [`Did you mean \`${redact([base, 'pets', ...others].join('/'))}\`?`]
  }
}

const MOST_NAMES = 5
/** Longer bodies take time to read. */
const LONGEST_BODY = 65_536
const LONGEST_NAME = 40
/** `after` exists with pagination only, which a console cannot see. */
const PARAMETERS = ['limit', 'status', 'after']

/** Prints of a variable that holds no id. */
const NO_ID = /\/(undefined|null|NaN|(?:\[|%5B)object(?: |%20)Object(?:\]|%5D))$/
