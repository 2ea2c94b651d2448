/**
 * Deduplicates equal queries. A query that arrives while an equal one is in progress waits for the
 * next, because the one in progress may not show the latest commits.
 */
export function createSharedQueries<Answer>(): (
  key: string,
  query: () => Promise<Answer>,
) => Promise<Answer> {
  const shared = new Map<string, Shared<Answer>>()

  return function ask(key, query): Promise<Answer> {
    const running = shared.get(key)
    if (!running) return start(key, query)
    const startNext = () => start(key, query)
    running.next ??= running.current.then(startNext, startNext)
    return running.next
  }

  function start(key: string, query: () => Promise<Answer>): Promise<Answer> {
    const started: Shared<Answer> = { current: query(), next: undefined }
    shared.set(key, started)
    const forget = () => {
      if (!started.next) shared.delete(key)
    }
    started.current.then(forget, forget)
    return started.current
  }
}

interface Shared<Answer> {
  readonly current: Promise<Answer>
  next: Promise<Answer> | undefined
}
