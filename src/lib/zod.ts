/**
 * The only import of zod, which the build bundles here: the package itself loads messages in 64
 * languages and takes ten times as long. In browsers, `zod/mini` is a third of the size.
 */
export { en } from 'zod/locales'
export type * from 'zod/mini'
export {
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
