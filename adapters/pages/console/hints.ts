import { distance, nearestFirst } from '../../../src/lib/did-you-mean.js'
import { BASE_PATH } from '../../../src/pets/specification.js'
import { unknownNames } from '../../verdict/log/exchange.js'
import type { Redact } from '../../verdict/log/redact.js'
import type { Kept } from './activity.js'

/** Names likely mistakes of the sender, and rejections that shadow mode suppressed. */
export function hintsOf({ request, response }: Kept, redact: Redact): readonly string[] {
  const { operation, shadowed } = response.about ?? {}
  const { path, query, body } = request
  const hints = shadowed ? [`Without shadow mode: 429 \`${shadowed}\`.`] : []
  if (operation === undefined) return [...hints, ...(response.status === 404 ? pathHint(path) : [])]
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
/** Longer bodies and names are no typing mistakes, and take time to compare. */
const LONGEST_BODY = 65_536
const LONGEST_NAME = 40
const FIELDS = ['name', 'categoryId', 'status']
/** `after` exists with pagination only, which a console cannot see. */
const PARAMETERS = ['limit', 'status', 'after']

/** Undefined if no name is close. */
function nearest(typed: string, names: readonly string[]): string | undefined {
  if (typed.length > LONGEST_NAME) return undefined
  const lower = typed.toLowerCase()
  const [closest = ''] = nearestFirst(lower, names)
  const isClose =
    distance(lower, closest.toLowerCase()) <= Math.max(1, closest.length / 3) ||
    lettersOf(typed) === lettersOf(closest)
  return isClose ? closest : undefined
}

/** Equal for words whose letters were swapped. */
function lettersOf(text: string): string {
  return [...text.toLowerCase()].sort().join('')
}
