import { useState } from 'preact/hooks'

const NAME = 'adoption-store-token'

/** Kept per tab, as a cookie would reach the other ports of this host. */
export function authorization(): Record<string, string> {
  return { authorization: `Bearer ${sessionStorage.getItem(NAME) ?? ''}` }
}

/** Takes the token from an address such as `http://127.0.0.1:4280/#token=…`. False without one. */
export function takeToken(address: string): boolean {
  const token = /#token=([\w-]+)/.exec(address)?.[1]
  if (token !== undefined) sessionStorage.setItem(NAME, token)
  return token !== undefined
}

export function Closed() {
  const [problem, setProblem] = useState('')
  const open = (event: SubmitEvent) => {
    event.preventDefault()
    const address = new FormData(event.currentTarget as HTMLFormElement).get('address')
    if (takeToken(String(address))) location.reload()
    else setProblem('This address has no `#token=…` at its end.')
  }
  return (
    <main class="view">
      <form class="panel stack" onSubmit={open}>
        <h1>Adoption Store console</h1>
        <p>
          Enter the address that the server printed after <code>Console</code>; it ends in{' '}
          <code>#token=…</code>.
        </p>
        <label>
          Address
          <input name="address" required autocomplete="off" />
        </label>
        <button type="submit">Open the console</button>
        <p class="problem" role="alert">
          {problem}
        </p>
      </form>
    </main>
  )
}
