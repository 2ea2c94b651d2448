/** Keeps rejections that nobody handles from ending the process; browsers have none that do. */
export function catchRejections() {
  const { process }: { process?: Partial<NodeJS.Process> } = globalThis
  let first: { readonly error: unknown } | undefined
  const see = (error: unknown) => {
    first ??= { error }
  }
  process?.on?.('unhandledRejection', see)
  return {
    /** In an object, as `undefined` can be thrown, too. */
    first: () => first,
    end: () => process?.off?.('unhandledRejection', see),
  }
}
