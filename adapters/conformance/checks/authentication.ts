import { type Call, type Check, must, should } from '../check.js'
import { expectStatus, expectThat } from '../expect.js'
import { ABSENT, each, INVALID, LIST, post } from './calls.js'

const OPERATIONS: Readonly<Record<string, Pick<Check, 'needs'> & { call: Call; title: string }>> = {
  list: { title: 'listPets', call: LIST },
  create: { title: 'createPet', call: INVALID, needs: ['create'] },
  get: { title: 'getPet', call: ABSENT, needs: ['getPet'] },
}

/** Authentication (spec §5). Few wrong keys in all: a server may count them. */
export const authenticationChecks: readonly Check[] = [
  ...each(OPERATIONS, (name, { title, call, needs = [] }) => ({
    id: `auth.missing.${name}`,
    requirement: must('spec §5'),
    title: `${title} without a key is 401`,
    requests: 1,
    needs,
    async run({ once, credentials }) {
      expectStatus(await once({ ...call, as: credentials.none }), 401)
    },
  })),
  ...each(OPERATIONS, (name, { title, call, needs = [] }) => ({
    id: `auth.unknown.${name}`,
    requirement: must('spec §5'),
    title: `${title} with an unknown key is 401`,
    requests: 1,
    needs,
    async run({ once, credentials }) {
      expectStatus(await once({ ...call, as: credentials.unknown }), 401)
    },
  })),
  {
    id: 'auth.before-body',
    requirement: must('spec §5'),
    title: 'the key is checked before the body: malformed JSON without a key is 401',
    requests: 1,
    needs: ['create'],
    async run({ send, credentials }) {
      expectStatus(await send({ ...post('{'), as: credentials.none }), 401)
    },
  },
  {
    id: 'auth.before-query',
    requirement: must('spec §5'),
    title: 'the key is checked before the query: an invalid limit without a key is 401',
    requests: 1,
    async run({ send, credentials }) {
      expectStatus(await send({ path: '/pets?limit=0', as: credentials.none }), 401)
    },
  },
  {
    id: 'auth.exact',
    requirement: must('spec §5'),
    title: 'a key with one more character, or one less, is invalid',
    requests: 2,
    async run({ send, credentials: { altered } }) {
      const longer = altered('with the key and one more character', key => `Bearer ${key}x`)
      expectStatus(await send({ ...LIST, as: longer }), 401)
      const shorter = altered(
        'with the key but its last character',
        key => `Bearer ${key.slice(0, -1)}`,
      )
      expectStatus(await send({ ...LIST, as: shorter }), 401)
    },
  },
  {
    id: 'auth.scheme',
    requirement: must('spec §5'),
    title: 'the key is accepted as a bearer token only',
    requests: 2,
    async run({ send, credentials: { altered } }) {
      const bare = altered('with the key but no scheme', key => key)
      expectStatus(await send({ ...LIST, as: bare }), 401)
      const basic = altered('with the key and the scheme Basic', key => `Basic ${key}`)
      expectStatus(await send({ ...LIST, as: basic }), 401)
    },
  },
  {
    id: 'auth.scheme-case',
    requirement: must('RFC 9110 §11.1'),
    title: 'the name of the scheme is case-insensitive',
    requests: 1,
    async run({ send, credentials: { altered } }) {
      const lower = altered('with the key as "bearer"', key => `bearer ${key}`, true)
      expectStatus(await send({ ...LIST, as: lower }), 200)
    },
  },
  ...each(OPERATIONS, (name, { title, call, needs = [] }) => ({
    id: `auth.challenge.${name}`,
    requirement: must('RFC 9110 §15.5.2'),
    title: `401 of ${title} carries WWW-Authenticate`,
    requests: 1,
    needs,
    async run({ once, credentials }) {
      const reply = await once({ ...call, as: credentials.none })
      expectThat(
        reply,
        reply.status !== 401 || reply.headers.has('www-authenticate'),
        'a WWW-Authenticate header',
      )
    },
  })),
  {
    id: 'auth.challenge-scheme',
    requirement: should('RFC 6750 §3'),
    title: 'the challenge is for the scheme Bearer',
    requests: 1,
    async run({ once, credentials }) {
      const reply = await once({ ...LIST, as: credentials.none })
      const challenge = reply.headers.get('www-authenticate')
      expectThat(
        reply,
        challenge === null || /(^|,\s*)bearer\b/i.test(challenge),
        'WWW-Authenticate: Bearer',
      )
    },
  },
  {
    id: 'auth.echo',
    requirement: should('RFC 6750 §5.2'),
    title: 'a response never repeats the key that was sent',
    requests: 1,
    async run({ once, credentials }) {
      const reply = await once({ ...LIST, as: credentials.unknown })
      const text = [...reply.headers.values(), reply.body].join('\n')
      expectThat(reply, !text.includes('verify-unknown-key'), 'a response without the key')
    },
  },
]
