/** Ends a client of `@redis/client`. Versions before 6.3 throw where it is closed already, as after a failed connect. */
export function destroyClient(client: { destroy(): void } | undefined): void {
  try {
    client?.destroy()
  } catch {
    // It is closed.
  }
}
