import { CheckFailure } from '../check-failure.js'
import type { Reply } from '../check-types.js'
import { NO_KEY } from '../credentials.js'
import * as expect from '../expect.js'
import { NoReply } from '../no-reply.js'
import { animal, ONE, post } from './calls.js'
import { checksOf, type Group } from './define-checks.js'

const GROUP: Group = {
  name: 'http',
  source: 'RFC 9110',
  needs: ['socket'],
  hint: id =>
    `the HTTP library of the server, or a proxy, decides this: update it, or use --skip ${id}`,
}

/** Parts of HTTP/1.1 that a handler can break; the rest is up to its HTTP library. */
export const httpChecks = checksOf(GROUP, {
  chunked: {
    title: 'a chunked body is read, or refused with 411',
    must: 'RFC 9112 §7.1',
    maxRequests: 1,
    needs: ['socket', 'create'],
    async run(subject) {
      const call = post(animal(subject, 'chunked'), { 'transfer-encoding': 'chunked' })
      for (const reply of await subject.sendTogether([call])) expect.status(reply, 201, 411)
    },
  },
  'refused-body': {
    title: 'the body of a refused request is not taken for the next request',
    must: 'RFC 9112 §9.3',
    maxRequests: 2,
    async run({ sendTogether }) {
      const refused = { ...post('GET / HTT'), as: NO_KEY }
      const [, next] = await sendTogether([refused, ONE])
      expect.status(next as Reply, 200)
    },
  },
  'absolute-form': {
    title: 'the target may be a whole URL',
    must: 'RFC 9112 §3.2.2',
    maxRequests: 1,
    async run({ sendTogether, origin, basePath }) {
      const call = { path: `${origin}${basePath}${ONE.path}` }
      for (const reply of await sendTogether([call])) expect.status(reply, 200)
    },
  },
  'head-empty': {
    title: 'the response to HEAD has no content',
    must: 'RFC 9110 §9.3.2',
    maxRequests: 2,
    async run({ sendTogether }) {
      await sendTogether([{ ...ONE, method: 'HEAD' }, ONE]).catch((error: unknown) => {
        if (!(error instanceof NoReply) || !error.code.startsWith('HPE_')) throw error
        const { sent, came } = error
        const expected = 'nothing but the next response after its header fields'
        throw new CheckFailure({ sent, came, expected })
      })
    },
  },
})
