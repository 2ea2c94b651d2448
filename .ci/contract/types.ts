import type {
  ErrorCode,
  Int64,
  ListPetsQuery,
  NewPet,
  Pet,
  PetStatus,
} from '../../dist/src/index.js'
import type { components, operations } from './dist/openapi.js'

type Schemas = components['schemas']

/** Compiles only if the types generated from the document are equivalent to ours. */
export type Checked = [
  Same<Schemas['PetStatus'], PetStatus>,
  Same<Schemas['NewPet'], OnTheWire<NewPet>>,
  Same<Schemas['Pet'], OnTheWire<Pet>>,
  Same<Schemas['Pets'][number], OnTheWire<Pet>>,
  Same<Schemas['Error'], { code: ErrorCode; message: string; status: number }>,
  Same<Query<'listPets'>, OnTheWire<Omit<ListPetsQuery, 'after'>>>,
  Same<operations['getPet']['parameters']['path'], { petId: number }>,
  Same<Json<operations['createPet']['requestBody']>, Schemas['NewPet']>,
  Same<Json<operations['createPet']['responses'][201]>, Schemas['Pet']>,
  Same<Json<operations['listPets']['responses'][200]>, Schemas['Pets']>,
  Same<Json<operations['getPet']['responses'][200]>, Schemas['Pet']>,
]

type Query<Name extends keyof operations> = NonNullable<operations[Name]['parameters']['query']>

type Json<Message extends { content: { 'application/json': unknown } }> =
  Message['content']['application/json']

/** JSON has one kind of number, and `readonly` is a promise that only we make. */
type OnTheWire<T> = { -readonly [Name in keyof T]: Int64 extends T[Name] ? number : T[Name] }

type Same<A, B extends Equal<A, B> extends true ? unknown : never> = [A, B]

type Equal<A, B> =
  (<T>() => T extends Flat<A> ? 1 : 2) extends <T>() => T extends Flat<B> ? 1 : 2 ? true : false

type Flat<T> = { [Name in keyof T]: T[Name] }
