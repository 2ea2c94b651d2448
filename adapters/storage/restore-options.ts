/** Options of a restore that may take long. */
export interface RestoreOptions {
  /** Receives the number of pets written so far; none is visible before the end. */
  readonly onProgress?: ((written: number) => void) | undefined
}
