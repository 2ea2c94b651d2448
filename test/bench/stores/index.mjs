/** The stores that are compared, with the packages each is made of. */
export const STORES = {
  ours: [],
  array: [],
  lowdb: ['lowdb'],
  'msw-data': ['@msw/data'],
  loki: ['lokijs'],
  nedb: ['@seald-io/nedb'],
  sqlite: ['better-sqlite3'],
}
