/** The parser of JSON whose numbers `JSON.parse` would round. The build puts it into this module. */
export { parse } from 'lossless-json'
