import loki from 'lokijs'

export function open(animals) {
  const pets = new loki('bench').addCollection('pets', { unique: ['id'], indices: ['status'] })
  for (const pet of animals) pets.insert(pet)
  return {
    list: status => pets.chain().find({ status }).limit(20).data(),
    get: id => pets.by('id', id),
    create: animal => pets.insert({ id: pets.count() + 1, ...animal }),
  }
}
