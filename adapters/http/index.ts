export { OptionError } from '../../src/lib/check-options.js'
export { type HttpServer, type ListenOptions, listen } from './listen.js'
export { type ExchangeMessage, type NodeHandlerOptions, toNodeHandler } from './node-handler.js'
