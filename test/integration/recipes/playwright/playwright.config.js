import { defineConfig } from '@playwright/test'

const port = process.env.STORE_PORT ?? '4280'
const token = 'token-of-these-tests'

export default defineConfig({
  testDir: '.',
  fullyParallel: true,
  webServer: {
    command: `npx animal-adoption-store --control --port ${port} --quiet`,
    url: `http://127.0.0.1:${port}/healthz`,
    env: { ADOPTION_STORE_CONTROL_TOKEN: token },
  },
  use: { control: `http://127.0.0.1:${port}/_control/${token}` },
})
