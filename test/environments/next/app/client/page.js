'use client'
import { createClient } from 'animal-adoption-store/client'

const client = createClient({ baseUrl: 'http://127.0.0.1:4280/v1', apiKey: 'demo-free' })

export default () => (
  <button type="button" onClick={() => client.listPets()}>
    list
  </button>
)
