/**
 * The part of zod that this package uses, and the only file that imports it. The build puts zod into
 * this module: the package itself loads the messages of 64 languages, which takes ten times as long.
 * `zod/mini`, because bundlers drop what is not used, so the store takes a third of the room in a browser.
 */
export { en } from 'zod/locales'
export type * from 'zod/mini'
export {
  _default,
  array,
  base64,
  boolean,
  custom,
  discriminatedUnion,
  enum,
  exactOptional,
  globalRegistry,
  int,
  intersection,
  literal,
  looseObject,
  maximum,
  minimum,
  nullable,
  number,
  object,
  optional,
  pipe,
  readonly,
  record,
  refine,
  regex,
  registry,
  strictObject,
  string,
  toJSONSchema,
  transform,
  tuple,
  union,
  unknown,
} from 'zod/mini'
