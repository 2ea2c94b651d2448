/** The obvious first version: an array, `filter` and `slice`. */
export function open(animals) {
  const pets = animals
  return {
    list: status => pets.filter(pet => pet.status === status).slice(0, 20),
    get: id => pets.find(pet => pet.id === id),
    create(animal) {
      const pet = { id: pets.length + 1, ...animal }
      pets.push(pet)
      return pet
    },
  }
}
