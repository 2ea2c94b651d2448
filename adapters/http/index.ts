export type { ConnectedRequest, ConnectionSpan } from './connection-span.js'
export { type HttpServer, type ListenOptions, listen } from './listen.js'
export type { LosableAnswer, LostBy } from './write-answer.js'
