import type { Pet, PetSnapshot } from '../../src/index.js'
import type { OptionError } from '../../src/lib/check-options.js'
import type { Choices } from './random.js'
import { ensure } from './violation.js'

type Options = Readonly<Record<string, unknown>>

/**
 * Tries to make something with one wrong value among right options.
 *
 * @param make throws or rejects with an error that names the option, and never shows an API key
 */
export async function ensureChecked<O extends object>(
  make: (options: O) => unknown,
  options: O,
  choices: Choices,
): Promise<void> {
  const [path, wrong] = spoilt(options as Options, choices)
  let error: Partial<OptionError> = {}
  try {
    await make(wrong as O)
  } catch (thrown) {
    error = thrown as OptionError
  }
  const { option = '', message = 'nothing' } = error
  const isNamed = path.some(name => option.includes(name) && message.includes(name))
  const shown = () => `with a wrong ${path.join('.')}, it says ${message}`
  ensure(isNamed && !/key-\d+-of/.test(message), 'input.checked', shown)
}

function spoilt(options: Options, choices: Choices): [path: readonly string[], wrong: Options] {
  const given = Object.entries(options).filter(([, value]) => (value ?? null) !== null)
  const [name, value] = choices.pick(given)
  if (NESTED.test(name) && Object.keys(value as Options).length > 0) {
    const [path, wrong] = spoilt(value as Options, choices)
    return [[name, ...path], { ...options, [name]: wrong }]
  }
  return [[name], { ...options, [name]: choices.pick(wrongFor(name, value)) }]
}

const NESTED = /^(apiKeys|plans|anonymous|idempotency|limits|(sha256:|key-).+)$/

function wrongFor(name: string, value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return [Number.NaN, [...value, 'no rule']]
  if (typeof value === 'number' && !/^(clock|sunset|deprecatedAt|expires)$/.test(name)) {
    return [Number.NaN, -1, 0.5]
  }
  const isAddress = /^https?:/.test(`${value}`)
  return isAddress ? [`${value}?`, `x${value}`, `${value}`.replace('//', '//a@')] : [Number.NaN]
}

/** A snapshot in which one thing cannot be right. */
export function spoiltSnapshot({ pets, nextId }: PetSnapshot, choices: Choices): PetSnapshot {
  const used = { scope: 'a', key: 'a', fingerprint: 'a', expiresAt: '', petId: 1 }
  const ids = [0, 0.5, nextId, ...pets.map(({ id }) => id).slice(-1)]
  const wrong = choices.pick([
    ...ids.map(id => ({ id })),
    ...[{ name: 5 }, { categoryId: 0.5 }, { categoryId: 2n ** 63n }, { status: 'eaten' }],
    undefined,
  ])
  if (!wrong) return { pets, nextId, idempotencyKeys: [used as never] }
  const pet = { id: nextId, name: 'spoilt', categoryId: 1, ...wrong } as Pet
  return { pets: [...pets, pet], nextId: 'id' in wrong ? nextId : nextId + 1 }
}

/** Takes a spoilt snapshot, which has to fail. */
export async function ensureRefused(take: () => unknown): Promise<void> {
  try {
    await take()
  } catch {
    return
  }
  ensure(false, 'input.checked', () => 'a spoilt snapshot was taken')
}
