/**
 * Lets `instanceof` hold for errors of every copy of the package: `import`, `require` and each bundle
 * have their own classes. As JSON, the errors keep their message.
 */
export function brand(errorClasses: Readonly<Record<string, { readonly prototype: Error }>>): void {
  for (const [name, errorClass] of Object.entries(errorClasses)) {
    const mark = Symbol.for(`animal-adoption-store.${name}`)
    Object.defineProperty(errorClass.prototype, mark, { value: true })
    Object.defineProperty(errorClass.prototype, 'toJSON', {
      value(this: Error): object {
        return { ...this, message: this.message }
      },
    })
    Object.defineProperty(errorClass, Symbol.hasInstance, {
      value(this: unknown, error: unknown): boolean {
        // A subclass of somebody else inherits this method.
        if (this !== errorClass) return Function.prototype[Symbol.hasInstance].call(this, error)
        return typeof error === 'object' && error !== null && mark in error
      },
    })
  }
}
