import { createTestDouble } from 'animal-adoption-store/test-double'

let server

export async function globalSetup() {
  server = await createTestDouble({ control: true }).listen()
  process.env.ADOPTION_STORE_CONTROL_URL = server.control
}

export async function globalTeardown() {
  await server.close()
}
