// Tries more faults on the client. It exits with 1, as it finds one: npm run explore
import { explore } from 'animal-adoption-store/test-double'
import { createShelter } from './shelter.mjs'

const ada = { name: 'Ada', categoryId: 1 }
const register = ({ double: { baseUrl }, fetch, sleep }) =>
  createShelter({ baseUrl, apiKey: 'demo-free', fetch, sleep }).register(ada)

const { runs, failures } = await explore(register, {
  depth: 2,
  invariant: async ({ pets, report }) => (await pets()).length === 1 && report.ok,
})
console.log(`${runs} runs, ${failures.length} failures`)
for (const { schedule, requests } of failures) {
  console.log(schedule)
  for (const { at, method, status, fault } of requests) {
    const time = new Date(at).toISOString().slice(14, 19)
    console.log(`  ${time} ${method} ${status} ${fault ?? ''}`.trimEnd())
  }
}
if (failures.length > 0) process.exitCode = 1
