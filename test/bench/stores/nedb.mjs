import Datastore from '@seald-io/nedb'

export async function open(animals) {
  const pets = new Datastore({ inMemoryOnly: true })
  await pets.ensureIndexAsync({ fieldName: 'id', unique: true })
  await pets.ensureIndexAsync({ fieldName: 'status' })
  for (const pet of animals) await pets.insertAsync(pet)
  let nextId = animals.length + 1
  return {
    list: status => pets.findAsync({ status }).limit(20).execAsync(),
    get: id => pets.findOneAsync({ id }).execAsync(),
    create: animal => pets.insertAsync({ id: nextId++, ...animal }),
  }
}
