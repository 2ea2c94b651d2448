import { store } from '../../lib/store.js'

export const dynamic = 'force-dynamic'

export default async function List() {
  return <p>{(await store.listPets()).map(({ name }) => name).join()}</p>
}
