// A program whose every request breaks a rule with a key of its own. It prints the keys in the order of the findings, and
// what `assertPolite` throws. Types and this comment make its lines differ from those of the compiled file.
import { EventEmitter, once } from 'node:events'
import { createClient } from 'animal-adoption-store/client'
import { createTestDouble, type TestDouble } from 'animal-adoption-store/test-double'
// @ts-expect-error: it is written beside the copy that runs
import wrapper from 'wrapper'

interface Init {
  readonly headers: Readonly<Record<string, string>>
}

const double: TestDouble = createTestDouble()

function as(key: string): Init {
  double.addKey(key, { id: key, plan: 'free' })
  return { headers: { authorization: `Bearer ${key}` } }
}

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

class Shelter {
  readonly path: string
  readonly first: Promise<Response>

  constructor(path: string) {
    this.path = path
    this.first = double.fetch(path, as('constructor'))
  }

  async find(): Promise<unknown> {
    await this.first
    return double.fetch(this.path, as('method'))
  }

  static async *pages(): AsyncGenerator<Response> {
    await pause(1)
    yield double.fetch('pets/1', as('generator'))
  }
}

async function afterAwaits(): Promise<unknown> {
  await pause(0)
  await pause(1)
  return double.fetch('pets/1', as('awaits'))
}

async function deep(left: number): Promise<unknown> {
  if (left > 0) return await deep(left - 1)
  await pause(1)
  return await double.fetch('pets/1', as('deep'))
}

async function main(): Promise<void> {
  await double.fetch('pets/1', as('direct'))
  await afterAwaits()
  await deep(5)
  await new Promise(resolve => {
    setTimeout(() => resolve(double.fetch('pets/1', as('timer'))), 1)
  })
  await Promise.all([
    double.fetch('pets/1', as('all-1')),
    pause(1).then(() => double.fetch('pets/1', as('all-2'))),
  ])
  await Promise.resolve('pets/1').then(path => double.fetch(path, as('then')))
  const emitter = new EventEmitter()
  emitter.on('go', () => emitter.emit('gone', double.fetch('pets/1', as('event'))))
  const gone = once(emitter, 'gone')
  setImmediate(() => emitter.emit('go'))
  await (await gone)[0]
  const shelter = new Shelter('pets/1')
  await shelter.find()
  for await (const response of Shelter.pages()) await response.text()
  await wrapper.send(double.fetch, 'pets/1', as('wrapper'))
  await wrapper.retrying(double.fetch, 'pets/1', as('retrying-wrapper'))
  await double.fetch(new Request(`${double.baseUrl}/pets/1`, as('request')))
  const client = createClient({ baseUrl: double.baseUrl, apiKey: 'client', fetch: double.fetch })
  await client.getPet(as('client') && 1).catch(() => {})
  await client.close()
  const response = await double.fetch('pets/1', as('last'))
  await response.text()
}

main().then(() => {
  const keys = double.report().findings.map(({ keyId }) => keyId)
  try {
    double.assertPolite()
  } catch (error) {
    console.log(JSON.stringify({ keys, log: (error as Error).message }))
  }
})
