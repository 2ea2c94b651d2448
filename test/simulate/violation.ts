/** An invariant does not hold: a defect of the program, or of the simulation. */
export class Violation extends Error {
  override readonly name = 'Violation'
  /** Its name never changes: shrinking looks for the same one. */
  readonly invariant: Invariant

  constructor(invariant: Invariant, message: string) {
    super(message)
    this.invariant = invariant
  }
}

export const INVARIANTS = {
  'animals.kept': 'an animal that was acknowledged or seen is there, with its bytes',
  'animals.once': 'no animal is stored more often than it was sent; with a key, once',
  'ids.ascending': 'ids ascend without gaps, and none is used again',
  'reads.linearizable': 'a list or get shows one state of the store between its begin and its end',
  'response.true': 'status, body and headers are those of the model',
  'events.true': 'what a response shows was announced to the host',
  'limits.exact': 'admitted, rejected and banned as the model decides, with true headers',
  'file.opens': 'after every crash the file opens, unless the disk fails meanwhile',
  'file.alone': 'no two processes have one file open',
  'file.tidy': 'a closed storage leaves the document and nothing else',
  'storage.available': 'a create fails with 503 only while the disk fails',
  'client.waits': 'a polite client sends nothing before its wait is over',
  'client.repeats': 'a client repeats only what may be repeated, after a pause',
  'client.answers': 'a client returns what the server answered',
  'client.ends': 'every call ends',
  'client.spared': 'a polite client alone on its key is never rejected while nothing fails',
  'verdict.just': 'the verdict accuses no polite client',
  'memory.bounded': 'what is kept is bounded, whatever happened',
  'errors.handled': 'nothing is thrown that nobody catches',
} as const

export type Invariant = keyof typeof INVARIANTS

export function ensure(holds: boolean, invariant: Invariant, message: () => string): void {
  if (!holds) throw new Violation(invariant, message())
}
