export { type HttpServer, type ListenOptions, listen } from './listen.js'
