/** Opens at its first use, so that it can be created where nothing may be opened yet. */
export interface OpensAtUse<Opened> {
  use<Result>(task: (opened: Opened) => Result): Result | Promise<Awaited<Result>>
  methods<Name extends keyof Opened>(...names: Name[]): Pick<Opened, Name>
  /** Opens it now, unless it is open. After a rejection, the next use tries again. */
  ready(): Promise<void>
  /** Waits for an opening in progress. Later uses reject. May be called again. */
  close(): Promise<void>
}

export function openAtUse<Opened extends { close(): Promise<void> }>(
  open: () => Promise<Opened>,
  closed: () => Error,
): OpensAtUse<Opened> {
  let opened: Opened | undefined
  let opening: Promise<Opened> | undefined
  let closing: Promise<void> | undefined

  return {
    use,
    methods(...names) {
      type Call = (...given: unknown[]) => unknown
      const call = (name: keyof Opened, given: unknown[]) =>
        use(opened => (opened[name] as Call)(...given))
      const methods = names.map(name => [name, (...given: unknown[]) => call(name, given)])
      return Object.fromEntries(methods)
    },
    ready: async () => use(() => {}),
    close() {
      closing ??= closeOpened()
      return closing
    },
  }

  function use<Result>(task: (opened: Opened) => Result): Result | Promise<Awaited<Result>> {
    if (closing) return Promise.reject(closed())
    if (opened) return task(opened)
    opening ??= attempt()
    return opening.then(task) as Promise<Awaited<Result>>
  }

  async function attempt(): Promise<Opened> {
    try {
      opened = await open()
      return opened
    } catch (error) {
      opening = undefined
      throw error
    }
  }

  async function closeOpened(): Promise<void> {
    await (await opening?.catch(() => undefined))?.close()
  }
}
