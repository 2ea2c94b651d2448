import { createTestDouble } from 'animal-adoption-store/test-double'

export default async function globalSetup() {
  const server = await createTestDouble({ control: true }).listen()
  process.env.ADOPTION_STORE_CONTROL_URL = server.control
  return () => server.close()
}
