/** A create without a response so far: sent again with its key, it is stored once. */
export interface UnansweredCreate {
  readonly idempotencyKey: string
  /** The animal as JSON. */
  readonly body: string
}

/** Creates that wait or are in flight; survives JSON. */
export interface ClientSnapshot {
  readonly creates: readonly UnansweredCreate[]
}

/**
 * Creates by their idempotency keys, until they have ended.
 *
 * @param random from 0 up to 1
 */
export function createUnanswered(random: () => number) {
  const creates = new Set<UnansweredCreate>()
  let prefix: string | undefined
  let count = 0

  return {
    creates: creates as ReadonlySet<UnansweredCreate>,
    /** A key that no other create has: numbered, whatever `random` returns. */
    createKey(): string {
      prefix ??= Array.from({ length: 4 }, () => hex(random() * 2 ** 32)).join('')
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

function hex(word: number): string {
  return Math.floor(word).toString(16).padStart(8, '0')
}

/** A String of Structured Fields (RFC 9651 §4.1.6), as draft-ietf-httpapi-idempotency-key-header has it. */
export function toFieldString(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}
