import { defineConfig } from '@playwright/test'

export default defineConfig({
  testDir: '.',
  fullyParallel: true,
  globalSetup: './global-setup.js',
  use: { control: process.env.ADOPTION_STORE_CONTROL_URL },
})
