import assert from 'node:assert/strict'
import fs from 'node:fs'
import { join } from 'node:path'
import { temporaryFolders } from '../stores/json-file/json-files.js'
import { withoutSqlite } from '../stores/sqlite/availability.js'
import { testUnless } from '../support/test-unless.js'
import {
  type Answer,
  type Call,
  checkFile,
  openProcesses,
  type Process,
  REQUESTS,
} from './sqlite-interleavings.js'

const test = testUnless(withoutSqlite)
const folder = temporaryFolders()
/** Result codes (sqlite.org/rescode.html). */
const CODES = { BUSY: 5, NOMEM: 7, IOERR: 10, FULL: 13 } as const

for (const [name, request] of Object.entries(REQUESTS)) {
  test(`sqlite - between any two statements of a ${name}, another process handles a whole request`, async () => {
    for (const other of Object.values(REQUESTS)) {
      await atEachCall(async (number, [one, two]) => {
        const sent = [request]
        let meanwhile: Promise<Answer> | undefined
        one.atCall(number, 'before', () => {
          sent.push(other)
          meanwhile = other.send(two, 'two')
        })
        const first = await request.send(one, 'one')
        const calls = one.calls()
        await checkFile(two, sent, meanwhile ? [first, await meanwhile] : [first])
        return calls
      })
    }
  })

  for (const when of ['before', 'after'] as const) {
    test(`sqlite - a process that dies ${when} any statement of a ${name} loses and doubles nothing`, async () => {
      await atEachCall(async (number, [one, two]) => {
        one.atCall(number, when, one.kill)
        const answer = await request.send(one, 'one').catch(() => undefined)
        const calls = one.calls()
        const rest = [request, ...Object.values(REQUESTS).filter(({ isRestore }) => !isRestore)]
        const answers = answer ? [answer] : []
        for (const next of rest) answers.push(await next.send(two, `${answers.length}`))
        await checkFile(two, [request, ...rest], answers)
        return calls
      })
    })
  }

  for (const [code, errcode] of Object.entries(CODES)) {
    test(`sqlite - ${code} at any statement of a ${name} fails it as a whole, or not at all`, async () => {
      await atEachCall(async (number, [one, two]) => {
        one.atCall(number, 'before', call => failWith(call, code, errcode))
        const answer = await request.send(one, 'one').catch(refuseOthers)
        const calls = one.calls()
        const again = await request.send(one, 'again')
        await checkFile(two, [request, request], answer ? [answer, again] : [again])
        return calls
      })
    })
  }
}

/**
 * Does something to the first call that a request makes, then to the second, and so on to the last.
 *
 * @param trial returns how many calls the request made
 */
async function atEachCall(
  trial: (number: number, processes: readonly [Process, Process]) => Promise<number>,
): Promise<void> {
  const place = folder()
  let calls = 0
  // The first trial, without anything else, counts them.
  for (let number = -1; number < calls; number++) {
    const path = join(place, `${number}.sqlite`)
    const [one, two] = await openProcesses(path)
    const made = await trial(number, [one, two])
    if (number < 0) calls = made
    for (const { storage, limits } of [one, two]) {
      await storage.close()
      await limits.close()
    }
    const left = fs.readdirSync(place).filter(name => name.startsWith(`${number}.sqlite-`))
    assert.deepEqual(left, [])
  }
}

/** A lock holds up only what does not have it yet, and what ends a transaction does so whatever it returns. */
function failWith({ sql, isLocked, rollBack }: Call, code: string, errcode: number): void {
  if (sql === 'ROLLBACK' || (code === 'BUSY' && isLocked)) return
  if (code === 'IOERR') rollBack()
  throw Object.assign(new Error(code), { code: 'ERR_SQLITE_ERROR', errcode })
}

function refuseOthers(error: Error): undefined {
  assert.match(
    `${error}`,
    /^SqliteError: .*(needs more memory|the disk failed|cannot grow|is locked)/,
  )
}
