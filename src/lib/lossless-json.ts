/** Parses JSON with numbers that `JSON.parse` would round. The build bundles it here. */
export { parse } from 'lossless-json'
