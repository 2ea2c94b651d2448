import { toJson } from '../../../src/lib/json.js'
import { type Check, must, type RawExchange, type Reply, type Subject } from '../check.js'
import { expectStatus, expectThat } from '../expect.js'
import { CheckFailure } from '../failure.js'
import { NoReply } from '../no-reply.js'
import { animal } from './calls.js'

const GET = 'GET {base}/pets?limit=1 HTTP/1.1\r\nHost: {host}\r\nAuthorization: {key}\r\n\r\n'
const POST =
  'POST {base}/pets HTTP/1.1\r\nHost: {host}\r\nAuthorization: {key}\r\nContent-Type: application/json\r\n\r\n'

/** What a handler can break of HTTP/1.1, sent as bytes; the rest is up to the HTTP library. */
const grammarChecks: readonly Check[] = [
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

export const httpGrammarChecks: readonly Check[] = grammarChecks.map(check => ({
  ...check,
  hint: `the HTTP library of the server, or a proxy, decides this: update it, or use --skip ${check.id}`,
}))
