/** Keeps unhandled rejections from ending the process; in browsers they do not. */
export function catchRejections() {
  const { process }: { process?: Partial<NodeJS.Process> } = globalThis
  let first: { readonly error: unknown } | undefined
  const see = (error: unknown) => {
    first ??= { error }
  }
  process?.on?.('unhandledRejection', see)
  return {
    /** An object, because `undefined` can be thrown too. */
    first: () => first,
    end: () => process?.off?.('unhandledRejection', see),
  }
}
