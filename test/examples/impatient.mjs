// Lists animals 62 times in a minute, where the plan allows 60, and does not wait after a 429.
const { ADOPTION_STORE_BASE_URL: baseUrl, ADOPTION_STORE_API_KEY: apiKey } = process.env
for (let call = 1; call <= 62; call++) {
  const response = await fetch(`${baseUrl}/pets`, {
    headers: { authorization: `Bearer ${apiKey}` },
  })
  await response.text()
}
