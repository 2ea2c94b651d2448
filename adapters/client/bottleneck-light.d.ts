/** The same without Redis, for browsers; its package types only the whole. */
declare module 'bottleneck/light.js' {
  export { default } from 'bottleneck'
}
