import { createTestDouble } from 'animal-adoption-store/test-double'

export default async function setup({ provide }) {
  const server = await createTestDouble({ control: true }).listen()
  provide('control', server.control)
  return () => server.close()
}
