import { type Actor, type ActorContext, BASE_URL, impatient } from './actor.js'
import { bodyOf, targetOf } from './pet-of.js'

/** The pause after a rejection, whatever Retry-After says. */
const PAUSE = 1_000
const LEAST_EARLY = 3_000

/** A client that sends a rejected request again too early, one at a time: the verdict has to find that. */
export function hasty(context: ActorContext): Actor {
  const { key, sleep } = context
  const fetch = impatient(context)
  let last: Promise<unknown> = Promise.resolve()
  let broke = false

  return {
    act(call) {
      const turn = last.then(async () => {
        const init = { headers: { authorization: `Bearer ${key()}` } }
        const target = call.do === 'list' ? targetOf(call) : '/pets'
        const request: Sent =
          call.do === 'create' ? createOf(init.headers, call.pet) : [target, init]
        const wait = await send(request)
        if (wait === undefined || wait < LEAST_EARLY) return
        await sleep(PAUSE)
        const again = await send(request)
        broke ||= again !== undefined
      })
      last = turn.catch(() => {})
      return turn
    },
    broke: () => broke,
  }

  /** The wait that the response asks for, in ms; undefined if there is no whole response. */
  async function send([target, init]: Sent): Promise<number | undefined> {
    try {
      const response = await fetch(BASE_URL + target, init)
      await response.text()
      return response.status === 429 ? Number(response.headers.get('retry-after')) * 1_000 : 0
    } catch {
      return undefined
    }
  }
}

type Sent = [target: string, init: RequestInit]

function createOf(
  headers: Readonly<Record<string, string>>,
  pet: Parameters<typeof bodyOf>[0],
): Sent {
  const own = { ...headers, 'content-type': 'application/json' }
  return ['/pets', { method: 'POST', headers: own, body: bodyOf(pet) }]
}
