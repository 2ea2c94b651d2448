/** A store of one's own on the shared server. */
export async function createWorld(begin = {}) {
  const response = await fetch(`${process.env.ADOPTION_STORE_CONTROL_URL}/worlds`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(begin),
  })
  return response.json()
}
