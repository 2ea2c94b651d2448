// Preloaded by `npm run test:one`: this process and its children run TypeScript from source.
import 'tsx'

process.env['NODE_OPTIONS'] = `--import=${import.meta.resolve('tsx')}`
