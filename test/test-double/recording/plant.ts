import { register } from 'node:module'

// `node --import plant.js`: runs a program with a server fault, which PLANT holds as JSON.
register('./plant-hooks.js', import.meta.url)
