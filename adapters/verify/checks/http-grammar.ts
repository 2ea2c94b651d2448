import { toJson } from '../../../src/lib/json.js'
import { type Check, must, type RawExchange, type Reply, type Subject, should } from '../check.js'
import { expectRefusalOr, expectStatus, expectThat } from '../expect.js'
import { CheckFailure } from '../failure.js'
import { NoReply } from '../no-reply.js'
import { animal, each } from './calls.js'

const GET = 'GET {base}/pets?limit=1 HTTP/1.1\r\nHost: {host}\r\nAuthorization: {key}\r\n\r\n'
const POST =
  'POST {base}/pets HTTP/1.1\r\nHost: {host}\r\nAuthorization: {key}\r\nContent-Type: application/json\r\n\r\n'

/** Requests that a server must answer with 400. */
const REFUSED: Readonly<Record<string, { source: string; title: string; text: string }>> = {
  'host-missing': {
    source: 'RFC 9112 §3.2',
    title: 'a request without Host',
    text: GET.replace('Host: {host}\r\n', ''),
  },
  'host-twice': {
    source: 'RFC 9112 §3.2',
    title: 'a request with two Host fields',
    text: insert(GET, 'Host: other.example'),
  },
  'space-before-colon': {
    source: 'RFC 9112 §5.1',
    title: 'a request with a space between the name of a field and its colon',
    text: insert(GET, 'X-Verify : 1'),
  },
  'content-length-invalid': {
    source: 'RFC 9112 §6.3',
    title: 'a request whose Content-Length is not a number',
    text: insert(GET, 'Content-Length: 1e1'),
  },
  'content-length-differs': {
    source: 'RFC 9112 §6.3',
    title: 'a request with two different Content-Length fields',
    text: `${insert(GET, 'Content-Length: 2\r\nContent-Length: 3')}{}`,
  },
}

/** HTTP/1.1 as bytes (RFC 9112). */
const grammarChecks: readonly Check[] = [
  ...each(REFUSED, (name, { source, title, text }) => ({
    id: `http.${name}`,
    requirement: must(source),
    title: `${title} gets 400`,
    requests: 1,
    needs: ['socket'],
    async run(subject) {
      const reply = await answered(subject, title, text)
      expectStatus(reply, 400)
    },
  })),
  {
    id: 'http.not-http',
    requirement: should('RFC 9112 §2.2'),
    title: 'what is not HTTP is refused, or the connection closed',
    requests: 1,
    needs: ['socket'],
    async run({ exchange }) {
      const [what, text] = ['a line that is not HTTP', 'verify\r\n\r\n']
      const { replies, closed } = await exchange({ what, text, methods: ['GET'] })
      const [reply] = replies
      if (reply) expectRefusalOr(reply)
      else if (!closed) throw silence(what, '400, or a closed connection')
    },
  },
  {
    id: 'http.length-and-chunked',
    requirement: must('RFC 9112 §6.1'),
    title: 'after a request with Content-Length and chunked, the connection is closed',
    requests: 2,
    needs: ['socket'],
    async run({ exchange }) {
      const what = 'Content-Length and Transfer-Encoding in one request'
      const fields = 'Content-Length: 5\r\nTransfer-Encoding: chunked'
      // What a server that goes by Content-Length would take for the next request.
      const text = `${insert(POST, fields)}0\r\n\r\n${GET}`
      const came = await exchange({ what, text, methods: ['POST', 'GET'] })
      const [reply, next] = came.replies
      if (!reply) throw silence(what, 'a response')
      expectThat(reply, came.closed && !next, 'one response, and then a closed connection')
    },
  },
  {
    id: 'http.chunked',
    requirement: must('RFC 9112 §7.1'),
    title: 'a chunked body is read, or refused with 411',
    requests: 1,
    needs: ['socket', 'create'],
    async run(subject) {
      const body = toJson(animal(subject, 'chunked'))
      const [first, second] = [body.slice(0, 9), body.slice(9)]
      const chunks = [first, second, ''].map(text => `${text.length.toString(16)}\r\n${text}\r\n`)
      const text = insert(POST, 'Transfer-Encoding: chunked') + chunks.join('')
      expectStatus(await answered(subject, 'createPet with a chunked body', text, 'POST'), 201, 411)
    },
  },
  {
    id: 'http.expect-continue',
    requirement: must('RFC 9110 §10.1.1'),
    title: 'a body after Expect: 100-continue is read, or refused',
    requests: 1,
    needs: ['socket', 'create'],
    async run(subject) {
      const body = toJson(animal(subject, 'expected'))
      const fields = `Content-Length: ${body.length}\r\nExpect: 100-continue`
      const text = `${insert(POST, fields)}${body}`
      const reply = await answered(subject, 'createPet with Expect: 100-continue', text, 'POST')
      expectStatus(reply, 201, 417)
    },
  },
  {
    id: 'http.refused-body',
    requirement: must('RFC 9112 §9.3'),
    title: 'the body of a refused request is not taken for the next request',
    requests: 2,
    needs: ['socket'],
    async run({ exchange }) {
      const what = 'createPet without a key, and a list with the key, pipelined'
      const refused = insert(POST.replace('Authorization: {key}\r\n', ''), 'Content-Length: 9')
      const text = `${refused}GET / HTT${GET}`
      const { replies, closed } = await exchange({ what, text, methods: ['POST', 'GET'] })
      const [first, second] = replies
      if (!first) throw silence(what, 'two responses')
      if (!second && closed) return
      if (!second) throw silence(what, 'a second response, or a closed connection')
      expectStatus(second, 200)
    },
  },
  {
    id: 'http.field-case',
    requirement: must('RFC 9110 §5.1'),
    title: 'names of header fields are case-insensitive',
    requests: 1,
    needs: ['socket'],
    async run(subject) {
      const loud = GET.replace('Host', 'hOST').replace('Authorization', 'AUTHORIZATION')
      expectStatus(await answered(subject, 'names in other cases', loud), 200)
    },
  },
  {
    id: 'http.absolute-form',
    requirement: must('RFC 9112 §3.2.2'),
    title: 'the target may be a whole URL',
    requests: 1,
    needs: ['socket'],
    async run(subject) {
      const text = GET.replace('{base}', '{origin}{base}')
      expectStatus(await answered(subject, 'a target in absolute form', text), 200)
    },
  },
  {
    id: 'http.pipelining',
    requirement: must('RFC 9112 §9.3.2'),
    title: 'pipelined requests are answered in order',
    requests: 3,
    needs: ['socket'],
    async run({ exchange }) {
      const what = 'two lists with an unknown path between them, pipelined'
      const unknown = GET.replace('/pets', '/verify-unknown')
      const methods = ['GET', 'GET', 'GET']
      const { replies } = await exchange({ what, text: `${GET}${unknown}${GET}`, methods })
      const statuses = replies.map(({ status }) => status)
      const [first, second, third] = statuses
      const isOrdered = first === 200 && second !== 200 && (third === 200 || statuses.length < 3)
      const came = statuses.length === 0 ? 'nothing' : statuses.join(', ')
      if (isOrdered) return
      throw new CheckFailure({ sent: what, came, expected: '200, a refusal, 200' })
    },
  },
  {
    id: 'http.head-empty',
    requirement: must('RFC 9110 §9.3.2'),
    title: 'the response to HEAD has no content',
    requests: 2,
    needs: ['socket'],
    async run({ exchange }) {
      const what = 'HEAD and GET, pipelined'
      const text = `${GET.replace('GET', 'HEAD')}${insert(GET, 'Connection: close')}`
      const came = await exchange({ what, text, methods: ['HEAD', 'GET'] })
      const [head] = came.replies
      if (!head) throw silence(what, 'two responses')
      expectThat(head, startsAnew(came), 'nothing but the next response after its header fields')
    },
  },
  {
    id: 'http.large-field',
    requirement: must('RFC 9110 §5.4'),
    title: 'header fields of 20,000 bytes are refused with a status from 400 to 499, or served',
    requests: 1,
    needs: ['socket'],
    async run(subject) {
      const text = insert(GET, `X-Verify: ${'x'.repeat(20_000)}`)
      expectRefusalOr(await answered(subject, 'header fields of 20,000 bytes', text), 200)
    },
  },
]

/** With one more header field. */
function insert(request: string, field: string): string {
  return request.replace('\r\n\r\n', `\r\n${field}\r\n\r\n`)
}

async function answered(
  { exchange }: Subject,
  what: string,
  text: string,
  method = 'GET',
): Promise<Reply> {
  const { replies, closed } = await exchange({ what, text, methods: [method] })
  const [reply] = replies
  if (reply) return reply
  if (closed) throw new NoReply(what, 'closed', 'the connection was closed')
  throw silence(what, 'a response')
}

function silence(sent: string, expected: string): CheckFailure {
  return new CheckFailure({ sent, came: 'nothing', expected })
}

/** Whether a second response, or nothing, follows the first. */
function startsAnew({ replies, rest }: RawExchange): boolean {
  return replies.length === 2 || rest === ''
}

/** Applications rarely decide about any of this. */
export const httpGrammarChecks: readonly Check[] = grammarChecks.map(check => ({
  ...check,
  hint: `the HTTP library of the server, or a proxy, decides this: update it, or use --skip ${check.id}`,
}))
