import { type Call, type Check, type Credential, type Credentials, must, should } from '../check.js'
import { expectStatus, expectThat } from '../expect.js'
import { CheckSkipped } from '../failure.js'
import { ABSENT, each, INVALID, LIST, post } from './calls.js'

const OPERATIONS: Readonly<Record<string, Pick<Check, 'needs'> & { call: Call; title: string }>> = {
  list: { title: 'listPets', call: LIST },
  create: { title: 'createPet', call: INVALID, needs: ['create'] },
  get: { title: 'getPet', call: ABSENT, needs: ['getPet'] },
}

/** Credentials that no server may accept. */
const WRONG: Readonly<
  Record<
    string,
    {
      title: string
      /** @default 401 only */
      statuses?: readonly number[]
      credentials(from: Pick<Credentials, 'altered' | 'foreign'>): readonly Credential[]
    }
  >
> = {
  exact: {
    title: 'a key with one more character, or one less, is invalid',
    credentials: ({ altered }) => [
      altered('with the key and one more character', key => `Bearer ${key}x`),
      altered('with the key but its last character', key => `Bearer ${key.slice(0, -1)}`),
      altered('with a character before the key', key => `Bearer x${key}`),
    ],
  },
  single: {
    title: 'a key with something beside it is invalid',
    // RFC 6750 §3.1: a malformed request may be 400 as well.
    statuses: [400, 401],
    credentials: ({ altered }) => [
      altered('with the key and another word', key => `Bearer ${key} verify`),
      altered('with the key after another word', key => `Bearer verify ${key}`),
      altered('with the key in a list', key => `Bearer verify, Bearer ${key}`),
    ],
  },
  scheme: {
    title: 'the key is accepted as a bearer token only',
    credentials: ({ altered }) => [
      altered('with the key but no scheme', key => key),
      altered('with the key and the scheme Basic', key => `Basic ${key}`),
      altered('with the key and the scheme Token', key => `Token ${key}`),
      altered('with the key as the user name of Basic', key => `Basic ${btoa(`${key}:`)}`),
      altered('with the key as the password of Basic', key => `Basic ${btoa(`verify:${key}`)}`),
      altered('with the key and the scheme XBearer', key => `XBearer ${key}`),
      altered('with no space after Bearer', key => `Bearer${key}`),
    ],
  },
  empty: {
    title: 'no key after Bearer, or a placeholder such as null, is invalid',
    statuses: [400, 401],
    credentials: ({ foreign }) =>
      ['', ' undefined', ' null', ' true'].map(text =>
        foreign(`with "Bearer${text}"`, `Bearer${text}`),
      ),
  },
  lookup: {
    title: 'a key named like a property of every object is invalid',
    credentials: ({ foreign }) =>
      ['constructor', '__proto__', 'toString', 'hasOwnProperty'].map(name =>
        foreign(`with the key "${name}"`, `Bearer ${name}`),
      ),
  },
  pattern: {
    title: 'a key that is a pattern or a query is invalid',
    statuses: [400, 401],
    credentials: ({ foreign }) =>
      ['*', '.*', '%', "'OR'1'='1"].map(text =>
        foreign(`with the key "${text}"`, `Bearer ${text}`),
      ),
  },
}

/** To count the credentials of a check. */
const NOTHING: Pick<Credentials, 'altered' | 'foreign'> = {
  altered: label => ({ label, authorization: undefined, budget: 'no key' }),
  foreign: label => ({ label, authorization: undefined, budget: 'no key' }),
}

/** Authentication (spec §5). */
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
  ...each(WRONG, (name, { title, statuses = [401], credentials }) => ({
    id: `auth.${name}`,
    requirement: must('spec §5'),
    title,
    requests: credentials(NOTHING).length,
    async run(subject) {
      for (const as of credentials(subject.credentials)) {
        expectStatus(await subject.send({ ...LIST, as }), ...statuses)
      }
    },
  })),
  {
    id: 'auth.key-case',
    requirement: must('spec §5'),
    title: 'the key in a different letter case is invalid',
    requests: 1,
    async run({ send, credentials: { altered, valid } }) {
      const swapped = altered(
        'with the key in the other letter case',
        key => `Bearer ${swapCase(key)}`,
      )
      if (swapped.authorization === valid.authorization) {
        throw new CheckSkipped('the key has no letters')
      }
      expectStatus(await send({ ...LIST, as: swapped }), 401)
    },
  },
  {
    id: 'auth.query',
    requirement: must('spec §5'),
    title: 'the key is not accepted in the query',
    requests: 1,
    async run({ send, credentials }) {
      const key = encodeURIComponent(keyOf(credentials))
      const names = [
        'access_token',
        'api_key',
        'apikey',
        'apiKey',
        'api-key',
        'key',
        'token',
        'auth',
      ]
      const query = [...names.map(name => `${name}=${key}`), `authorization=Bearer%20${key}`]
      const reply = await send({ path: `/pets?${query.join('&')}`, as: credentials.none })
      expectStatus(reply, 401)
    },
  },
  {
    id: 'auth.other-header',
    requirement: must('spec §5'),
    title: 'the key is accepted in no other header field than Authorization',
    requests: 1,
    async run({ send, credentials }) {
      const key = keyOf(credentials)
      const headers = {
        'x-api-key': key,
        'api-key': key,
        apikey: key,
        'x-auth-token': key,
        'x-authorization': `Bearer ${key}`,
        'proxy-authorization': `Bearer ${key}`,
        cookie: `api_key=${key}; token=${key}; session=${key}`,
      }
      expectStatus(await send({ ...LIST, headers, as: credentials.none }), 401)
    },
  },
  {
    id: 'auth.path',
    requirement: must('spec §1'),
    title: 'no spelling of the path bypasses the key',
    requests: 4,
    async run({ send, credentials }) {
      for (const path of ['/pets/', '/%70ets', '/PETS', '//pets']) {
        const reply = await send({ path, as: credentials.none })
        expectThat(reply, reply.status >= 300, '401, or another refusal')
      }
    },
  },
  {
    id: 'auth.head',
    requirement: must('spec §1'),
    title: 'HEAD without a key is refused',
    requests: 1,
    async run({ send, credentials }) {
      const reply = await send({ ...LIST, method: 'HEAD', as: credentials.none })
      expectThat(reply, reply.status >= 400, '401, or another refusal')
    },
  },
  {
    id: 'auth.twice',
    requirement: should('RFC 9110 §5.3'),
    title: 'an unknown key and the key in two Authorization fields are refused',
    requests: 1,
    needs: ['socket'],
    async run({ exchange }) {
      const what = 'two Authorization fields'
      const fields = 'Authorization: Bearer verify-unknown-key\r\nAuthorization: {key}'
      const text = `GET {base}/pets HTTP/1.1\r\nHost: {host}\r\n${fields}\r\n\r\n`
      const { replies } = await exchange({ what, text, methods: ['GET'] })
      for (const reply of replies) expectStatus(reply, 400, 401)
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
      const echoes = ['verify-unknown-key', btoa('verify-unknown-key')]
      const echo = echoes.find(spelling => text.includes(spelling))
      expectThat(reply, echo === undefined, 'a response without the key', echo)
    },
  },
]

function swapCase(text: string): string {
  return text.replace(/[a-z]/gi, letter =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  )
}

function keyOf({ valid: { authorization = '' } }: Credentials): string {
  return authorization.replace(/^Bearer /, '')
}
