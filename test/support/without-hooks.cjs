// Preloaded by test/run.mjs. `node:test` watches every promise and socket with async hooks, only to say which
// test an uncaught error comes from; programs that create many spend a third of their time there. Without
// hooks, such an error ends its file instead.
const hooks = require('node:async_hooks')

const { createHook } = hooks
hooks.createHook = () => ({ enable() {}, disable() {} })
require('node:test')
hooks.createHook = createHook

for (const event of ['uncaughtException', 'unhandledRejection']) {
  process.on(event, error => {
    console.error(event, error)
    process.exit(1)
  })
}
