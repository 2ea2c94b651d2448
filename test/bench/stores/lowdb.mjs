import { Low, Memory } from 'lowdb'

export async function open(animals) {
  const database = new Low(new Memory(), { pets: animals })
  await database.write()
  const { pets } = database.data
  return {
    list: status => pets.filter(pet => pet.status === status).slice(0, 20),
    get: id => pets.find(pet => pet.id === id),
    async create(animal) {
      const pet = { id: pets.length + 1, ...animal }
      await database.update(data => data.pets.push(pet))
      return pet
    },
  }
}
