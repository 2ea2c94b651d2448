import { type Answer, type AttemptOptions, attempt, type ClientRequest } from './attempt.js'
import { ApiKeyBannedError, ConnectionError } from './errors.js'
import { errorOf } from './failure.js'
import type { Gate, GateOptions } from './gate.js'
import { toldWait, waitBefore } from './retry.js'

export interface SendOptions extends AttemptOptions, GateOptions {
  readonly random: () => number
  readonly maxRetries: number
}

/**
 * Sends a request until it has its answer: again after a 429, which had no effect, and a read also
 * after a failure of the server or of the connection. Every try passes the gate.
 *
 * @throws ApiError, ConnectionError, or the reason of the signal
 */
export async function send(
  request: ClientRequest,
  signal: AbortSignal | undefined,
  gate: Gate,
  options: SendOptions,
): Promise<Answer> {
  const { clock, random, maxRetries, maxWaitMs } = options
  let notBefore = 0
  let rejectedBefore = false

  for (let retries = 0; ; retries++) {
    await gate.enter(notBefore, signal)
    const outcome = await tryOnce()
    const answer = outcome instanceof ConnectionError ? undefined : outcome
    if (answer && answer.status < 300) return answer

    const now = clock()
    const rejected = answer?.status === 429
    // When the limit resets says nothing about when a failure is over.
    const told = answer && toldWait(rejected ? answer : { ...answer, rateLimit: undefined }, now)
    const wait = waitBefore({ told, retries, again: rejected && rejectedBefore }, random)
    const retryAt = now + (told ?? wait)
    const error = answer ? await errorOf(answer, now, retryAt - now) : outcome
    if (error instanceof ApiKeyBannedError) {
      gate.ban(error)
      throw error
    }
    if (rejected) gate.block(retryAt, now + wait)
    const passing = rejected || (request.method === 'GET' && (answer?.status ?? 500) >= 500)
    if (!passing || retries === maxRetries || retryAt - now > maxWaitMs) throw error
    notBefore = now + wait
    rejectedBefore = rejected
  }

  async function tryOnce(): Promise<Answer | ConnectionError> {
    let answer: Answer | undefined
    try {
      answer = await attempt(request, signal, options)
      return answer
    } catch (error) {
      if (error instanceof ConnectionError) return error
      throw error
    } finally {
      gate.leave(answer)
    }
  }
}
