import { Collection } from '@msw/data'
import * as z from 'zod'

const schema = z.object({
  id: z.int(),
  name: z.string(),
  categoryId: z.int(),
  status: z.enum(['available', 'pending', 'sold']),
})

export async function open(animals) {
  const pets = new Collection({ schema })
  for (const pet of animals) await pets.create(pet)
  return {
    list: status => pets.findMany(query => query.where({ status }), { take: 20 }),
    get: id => pets.findFirst(query => query.where({ id })),
    create: animal => pets.create({ id: pets.count() + 1, ...animal }),
  }
}
