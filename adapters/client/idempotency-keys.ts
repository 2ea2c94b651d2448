/** A create without a response so far; its key makes resending safe. */
export interface UnansweredCreate {
  readonly idempotencyKey: string
  /** The animal as JSON. */
  readonly body: string
}

/** Creates that wait or are in flight, as plain JSON. */
export interface ClientSnapshot {
  readonly creates: readonly UnansweredCreate[]
}

/** @param random without it, no mock or seed of `Math.random` decides the keys */
export function createUnanswered(random: (() => number) | undefined, now: () => number) {
  const creates = new Set<UnansweredCreate>()
  let prefix: string | undefined
  let count = 0

  return {
    creates: creates as ReadonlySet<UnansweredCreate>,
    /** Numbered, so that keys are unique whatever `random` returns. */
    createKey(): string {
      prefix ??= Array.from(words(random, now), hex).join('')
      return `${prefix}-${++count}`
    },
    async during<T>(create: UnansweredCreate, work: Promise<T>): Promise<T> {
      creates.add(create)
      try {
        return await work
      } finally {
        creates.delete(create)
      }
    },
  }
}

/** Four numbers below 2^32, unique to this process. */
function words(random: (() => number) | undefined, now: () => number): Iterable<number> {
  // Pages without TLS have no `randomUUID`.
  if (!random && globalThis.crypto) return crypto.getRandomValues(new Uint32Array(4))
  const draw = () => (random ?? Math.random)() * 2 ** 32
  return random
    ? [draw(), draw(), draw(), draw()]
    : [now() / 2 ** 32, now() % 2 ** 32, draw(), draw()]
}

function hex(word: number): string {
  return Math.floor(word).toString(16).padStart(8, '0')
}

/** A String of Structured Fields (RFC 9651 §4.1.6), as draft-ietf-httpapi-idempotency-key-header has it. */
export function toFieldString(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}
