// Preloaded by test/run.mjs. Node's servers close a connection 5 s after its last response, even while the next
// request is on its way: where a busy machine holds a test up for that long, its client gets ECONNRESET.
// A server with a limit of its own keeps it.
const { subscribe } = require('node:diagnostics_channel')

const DEFAULT = 5_000

subscribe('http.server.request.start', ({ server }) => {
  if (server.keepAliveTimeout === DEFAULT) server.keepAliveTimeout = 600_000
})
