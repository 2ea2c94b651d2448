/**
 * The only import of zod, which the build bundles here: the package itself loads messages in 64
 * languages and takes ten times as long. Bundlers drop unused parts of `zod/mini`, a third of the
 * size in browsers.
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
