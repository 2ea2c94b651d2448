import Bottleneck from 'bottleneck/light.js'
import { QueueFullError } from './errors.js'

/** Runs jobs in the order they come, a few at a time. */
export interface Scheduler {
  /** @throws QueueFullError, and whatever the job throws */
  schedule<T>(job: () => Promise<T>): Promise<T>
}

export function createScheduler(maxConcurrent: number, maxQueued: number): Scheduler {
  const bottleneck = new Bottleneck({
    maxConcurrent,
    highWater: maxQueued,
    strategy: Bottleneck.strategy.OVERFLOW,
  })
  return {
    async schedule(job) {
      try {
        return await bottleneck.schedule(job)
      } catch (error) {
        if (!(error instanceof Bottleneck.BottleneckError)) throw error
        throw new QueueFullError(`More than ${maxQueued} calls are waiting (\`maxQueued\`).`)
      }
    },
  }
}
