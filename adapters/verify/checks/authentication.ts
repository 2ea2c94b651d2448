import { CheckSkipped } from '../check-failure.js'
import type { Call, Reply, Subject } from '../check-types.js'
import { altered, type Credential, foreign, NO_KEY, UNKNOWN_KEY } from '../credentials.js'
import * as expect from '../expect.js'
import { ABSENT, ANONYMOUS, INVALID, LIST, post } from './calls.js'
import { checksOf, type Group, type Table } from './define-checks.js'
import { anyId } from './samples.js'

const PARAMETERS = 'access_token api_key apikey apiKey api-key key token auth'.split(' ')
const FIELDS = {
  'x-api-key': '{key}',
  'api-key': '{key}',
  apikey: '{key}',
  'x-auth-token': '{key}',
  'x-authorization': 'Bearer {key}',
  'proxy-authorization': 'Bearer {key}',
  cookie: 'api_key={key}; token={key}; session={key}',
}

/** Headers that a server behind a proxy may trust. */
const INSIDE = {
  'x-forwarded-for': '127.0.0.1',
  'x-forwarded-host': 'localhost',
  'x-forwarded-user': 'admin',
  'x-real-ip': '127.0.0.1',
  'x-client-ip': '127.0.0.1',
  'true-client-ip': '127.0.0.1',
  'x-user-id': '1',
  'x-original-url': '/health',
  'x-rewrite-url': '/health',
  forwarded: 'for=127.0.0.1',
}

const GROUP: Group = { name: 'auth', source: 'spec §5' }

export const authenticationChecks = checksOf(GROUP, {
  list: strange('listPets, whatever its query,', LIST, { path: '/pets?limit=0' }),
  create: strange(
    'createPet, whatever its body and its type,',
    ...[INVALID, post('{'), post('{', { 'content-type': 'text/plain' })],
  ),
  get: strange('getPet', ABSENT),
  'before-id': {
    title: 'the key is checked before the id: an invalid one without a key is 401',
    calls: [without('/pets/verify')],
    // A framework may know no such path.
    judge: reply => expect.status(reply, 401, 404),
  },
  'again.list': {
    title: 'a list that was just sent to the key still needs the key',
    maxRequests: 10,
    run: subject =>
      expectClosed(subject, [
        ...['/pets?status=sold', '/pets?limit=10', '/pets?', '/pets?limit=%31'].map(without),
        { path: '/pets?status=sold', as: UNKNOWN_KEY },
      ]),
  },
  'again.get': {
    title: 'an animal that was just sent to the key still needs the key',
    needs: ['getPet'],
    maxRequests: 7,
    async run(subject) {
      const path = `/pets/${await anyId(subject)}`
      const strangers = [without(path), { path, as: UNKNOWN_KEY }]
      await expectClosed(subject, [...strangers, { ...without(path), method: 'HEAD' }])
    },
  },
  exact: wrong('a key with one more character, one less, or another one is invalid', [
    altered('with the key and one more character', key => `Bearer ${key}x`),
    altered('with the key but its last character', key => `Bearer ${key.slice(0, -1)}`),
    altered('with the key and another last character', key => `Bearer ${key.slice(0, -1)}~`),
    altered('with a character before the key', key => `Bearer x${key}`),
    // Properties of every object.
    ...['constructor', '__proto__'].map(keyed),
  ]),
  // A malformed request may also get 400 (RFC 6750 §3.1).
  single: wrong(
    'a key with something beside it is invalid',
    [
      altered('with the key and another word', key => `Bearer ${key} verify`),
      altered('with the key after another word', key => `Bearer verify ${key}`),
      altered('with the key in a list', key => `Bearer verify, Bearer ${key}`),
    ],
    [400, 401],
  ),
  scheme: wrong('the key is accepted as a bearer token only', [
    altered('with the key but no scheme', key => key),
    altered('with the key and the scheme Basic', key => `Basic ${key}`),
    altered('with the key and the scheme Token', key => `Token ${key}`),
    altered('with the key as the user name of Basic', key => `Basic ${btoa(`${key}:`)}`),
    altered('with the key as the password of Basic', key => `Basic ${btoa(`verify:${key}`)}`),
    altered('with the key and the scheme XBearer', key => `XBearer ${key}`),
    altered('with no space after Bearer', key => `Bearer${key}`),
  ]),
  placeholder: wrong(
    'no key, a placeholder such as null, a pattern or a query after Bearer is invalid',
    [
      ...['', ' undefined', ' null'].map(text => foreign(`with "Bearer${text}"`, `Bearer${text}`)),
      ...['*', '.*', '%', "'OR'1'='1"].map(keyed),
    ],
    [400, 401],
  ),
  'key-case': wrong('the key in a different letter case is invalid', [
    altered('with the key in the other letter case', key => `Bearer ${swapCase(key)}`),
  ]),
  query: {
    title: 'the key is not accepted in the query',
    calls: [
      {
        path: `/pets?${PARAMETERS.map(name => `${name}={key}`).join('&')}&authorization=Bearer%20{key}`,
        as: NO_KEY,
      },
    ],
    judge: is401,
  },
  headers: {
    title: 'no header field stands in for Authorization, not even one that a proxy sets',
    calls: [FIELDS, INSIDE].map(headers => ({ ...LIST, headers, as: NO_KEY })),
    judge: is401,
  },
  path: {
    title: 'neither HEAD nor another spelling of the path bypasses the key',
    must: 'spec §1',
    calls: ({ origin, basePath }) => [
      ...['/pets/', '/%70ets', '/PETS', '//pets', '/pets.json', '/pets;a=b'].map(without),
      ...['/pets%2F', '/pets%20', '/pets%00'].map(without),
      without(`${origin}${basePath.toUpperCase()}/PETS`),
      { ...without('/pets'), method: 'HEAD' },
    ],
    judge: reply => expect.that(reply, reply.status >= 300, '401, or another refusal'),
    needs: [],
  },
  'scheme-case': {
    title: 'the name of the scheme is case-insensitive',
    must: 'RFC 9110 §11.1',
    calls: [{ ...LIST, as: altered('with the key as "bearer"', key => `bearer ${key}`, 'key') }],
    judge: reply => expect.status(reply, 200),
  },
  'challenge-scheme': {
    title: 'the challenge is for the scheme Bearer',
    should: 'RFC 6750 §3',
    calls: [ANONYMOUS],
    judge(reply) {
      const challenge = reply.headers.get('www-authenticate') ?? 'Bearer'
      expect.that(reply, /(^|,\s*)bearer\b/i.test(challenge), 'WWW-Authenticate: Bearer')
    },
  },
})

function strange(operation: string, ...calls: readonly [Call, ...Call[]]): Table[string] {
  const anonymous = calls.map(call => ({ ...call, as: NO_KEY }))
  return {
    title: `${operation} is 401 without a key or with an unknown one`,
    calls: [...anonymous, { ...calls[0], as: UNKNOWN_KEY }],
    judge: is401,
  }
}

function without(path: string): Call {
  return { path, as: NO_KEY }
}

/** A cache in front of the key, or a rule for some addresses, may let strangers in. */
async function expectClosed(subject: Subject, calls: readonly Call[]): Promise<void> {
  for (const call of calls) {
    if ((await subject.send({ path: call.path })).status !== 200) return
    const reply = await subject.send(call)
    if (call.method === 'HEAD') expect.refusalOr(reply, 501)
    else is401(reply)
  }
}

function is401(reply: Reply): void {
  expect.status(reply, 401)
}

function wrong(
  title: string,
  credentials: readonly Credential[],
  statuses: readonly number[] = [401],
): Table[string] {
  return {
    title,
    calls: credentials.map(as => ({ ...LIST, as })),
    judge: reply => expect.status(reply, ...statuses),
  }
}

function keyed(name: string): Credential {
  return foreign(`with the key "${name}"`, `Bearer ${name}`)
}

function swapCase(text: string): string {
  if (!/[a-z]/i.test(text)) throw new CheckSkipped('the key has no letters')
  return text.replace(/[a-z]/gi, letter =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  )
}
