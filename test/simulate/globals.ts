import { syncBuiltinESMExports } from 'node:module'
import timersPromises from 'node:timers/promises'
import type { Scheduler } from './scheduler.js'

/**
 * Replaces the timers, the clock and the randomness of the platform while a world runs: code under test
 * that uses them instead of a port is in virtual time too.
 *
 * @returns puts the real ones back
 */
export function virtualGlobals(scheduler: Scheduler, random: () => number): () => void {
  const real = { setTimeout, clearTimeout, setImmediate, now: Date.now, random: Math.random }
  const realPause = timersPromises.setTimeout
  const begin = scheduler.now()
  const timers = new Map<number, () => void>()
  let lastTimer = 0

  const startTimer = (task: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) => {
    const id = ++lastTimer
    const end = () => {
      timers.delete(id)
      task(...given)
    }
    timers.set(id, scheduler.after('timer', ms, end))
    const timer = { unref: () => timer, ref: () => timer, [Symbol.toPrimitive]: () => id }
    return timer
  }
  const stopTimer = (timer: unknown) => {
    if (timer === undefined || timer === null) return
    timers.get(Number(timer))?.()
    timers.delete(Number(timer))
  }
  Object.assign(globalThis, {
    setTimeout: startTimer,
    clearTimeout: stopTimer,
    setImmediate: (task: (...given: unknown[]) => void, ...given: unknown[]) =>
      scheduler.after('turn of the loop', 0, () => task(...given)),
  })
  Date.now = () => Math.floor(scheduler.now())
  Math.random = random
  Object.assign(performance, { now: () => scheduler.now() - begin })
  Object.assign(timersPromises, {
    setTimeout: (ms?: number) => new Promise<void>(resolve => startTimer(() => resolve(), ms)),
  })
  syncBuiltinESMExports()

  return () => {
    const { now, random, ...functions } = real
    Object.assign(globalThis, functions)
    Date.now = now
    Math.random = random
    Reflect.deleteProperty(performance, 'now')
    Object.assign(timersPromises, { setTimeout: realPause })
    syncBuiltinESMExports()
  }
}
